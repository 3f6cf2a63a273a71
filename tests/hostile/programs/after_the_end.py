# Programs that go on where a call is over: after the final answer, a limit or an interruption.
# hostile: final-answer-then-return-in-finally
# ends: quietly the final answer is its end
def answer():
    try:
        final_answer(1)
    finally:
        return 2
answer()
trip("after the final answer")
# hostile: final-answer-then-continue-in-finally
# ends: quietly the final answer is its end
for n in range(2):
    try:
        final_answer(n)
    finally:
        continue
trip("after the final answer")
# hostile: final-answer-then-break-in-finally
# ends: quietly the final answer is its end
while True:
    try:
        final_answer(1)
    finally:
        break
trip("after the final answer")
# hostile: final-answer-caught
# ends: quietly the final answer is its end
try:
    final_answer(1)
except BaseException:
    trip("in a handler")
trip("after the final answer")
# hostile: final-answer-caught-in-a-group
# ends: quietly the final answer is its end
try:
    final_answer(1)
except* BaseException:
    trip("in a handler")
trip("after the final answer")
# hostile: final-answer-suppressed
# ends: quietly the final answer is its end
import contextlib
with contextlib.suppress(BaseException):
    final_answer(1)
trip("after the final answer")
# hostile: final-answer-swallowed-on-leaving
# ends: quietly the final answer is its end
class Swallow:
    def __enter__(self):
        return self
    def __exit__(self, *a):
        trip("on leaving")
        return True
with Swallow():
    final_answer(1)
trip("after the final answer")
# hostile: final-answer-in-hasattr
# ends: quietly the final answer is its end
class Asked:
    @property
    def answer(self):
        final_answer(1)
hasattr(Asked(), "answer")
trip("after the final answer")
# hostile: final-answer-in-a-finaliser
# ends: quietly the final answer is its end
class Last:
    def __del__(self):
        final_answer(1)
Last()
trip("after the final answer")
# hostile: final-answer-in-a-comparison
# ends: quietly the final answer is its end
class Key:
    def __lt__(self, other):
        final_answer(1)
def compare():
    try:
        sorted([Key(), Key()])
    finally:
        return 0
compare()
trip("after the final answer")
# hostile: final-answer-then-a-finaliser-calls
# ends: quietly the final answer is its end
class Late:
    def __del__(self):
        trip("after the final answer")
late = Late()
try:
    final_answer(1)
finally:
    del late
# hostile: final-answer-then-an-endless-loop
# limit: it gives its answer and goes on
# ends: quietly the final answer is its end
def answer():
    try:
        final_answer(1)
    finally:
        while True:
            pass
answer()
# hostile: time-limit-then-a-tool
# limit: swallow
while True:
    try:
        while True:
            pass
    except BaseException:
        search("after the limit")
        trip("after the limit")
# hostile: time-limit-then-tools-without-end
# limit: swallow
def spin():
    try:
        while True:
            pass
    finally:
        while True:
            trip("after the limit")
spin()
# hostile: exit-in-the-words-of-an-exception
# weak: what leaves the call is what it shows
class Words(Exception):
    def __str__(self):
        raise SystemExit(3)
    __repr__ = __str__
raise Words()
# hostile: interruption-in-the-words-of-an-exception
# weak: what leaves the call is what it shows
class Words(Exception):
    def __str__(self):
        raise KeyboardInterrupt
    __repr__ = __str__
raise Words()
# hostile: exit-in-the-words-of-the-value
# local: no the host looks at what the program made, after its run
# weak: what leaves the call is what it shows
# ends: quietly its value is what it shows
class Words:
    def __str__(self):
        raise SystemExit(3)
    __repr__ = __str__
Words()
# hostile: interruption-thrown-into-a-generator
# weak: what leaves the call is what it shows
def numbers():
    yield 1
    yield 2
n = numbers()
next(n)
n.throw(KeyboardInterrupt())
# hostile: exit-raised
# weak: what leaves the call is what it shows
# ends: quietly without a status an exit is success
raise SystemExit(0)
# hostile: exit-raised-with-a-status
# weak: what leaves the call is what it shows
raise SystemExit(3)
# hostile: generator-exit-raised
# weak: what leaves the call is what it shows
raise GeneratorExit
# hostile: traceback-that-is-its-own-next
# weak: what leaves the call is what it shows
try:
    1 / 0
except ZeroDivisionError as error:
    e = error
e.__traceback__.tb_next = e.__traceback__
raise e
# hostile: exception-that-is-its-own-cause
# weak: what leaves the call is what it shows
e, f = ValueError("e"), ValueError("f")
e.__cause__ = f
f.__cause__ = e
raise e
# hostile: hint-for-a-long-key
# weak: what it shows is how its call ends
# limit: the words of an error
# ends: quietly the error is caught
d = {"a" * 60000 + "b": 1}
d["a" * 60000 + "c"]
# hostile: finally-nested-deep
# weak: what it shows is how its call ends
# limit: to compile it takes the power of its depth
# ends: quietly it does nothing
try:
 try:
  try:
   try:
    try:
     try:
      try:
       try:
        try:
         try:
          try:
           try:
            try:
             try:
              try:
               try:
                try:
                 try:
                  pass
                 finally:
                  a = 1
                finally:
                 a = 1
               finally:
                a = 1
              finally:
               a = 1
             finally:
              a = 1
            finally:
             a = 1
           finally:
            a = 1
          finally:
           a = 1
         finally:
          a = 1
        finally:
         a = 1
       finally:
        a = 1
      finally:
       a = 1
     finally:
      a = 1
    finally:
     a = 1
   finally:
    a = 1
  finally:
   a = 1
 finally:
  a = 1
finally:
 a = 1
# hostile: answer-with-too-many-digits
# weak: what it shows is how its call ends
# limit: the words of a value
# ends: quietly its value is what it shows
10 ** 5000
