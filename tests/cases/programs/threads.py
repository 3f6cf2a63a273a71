# case: joined
import threading
r = []
ts = [threading.Thread(target=r.append, args=(i,)) for i in range(5)]
for t in ts: t.start()
for t in ts: t.join()
sorted(r)
# case: subclass
import threading
class W(threading.Thread):
    def run(self): self.result = self._target(*self._args)
w = W(target=lambda x: x + 1, args=(2,), name='w', daemon=True)
w.start()
w.join()
(w.result, w.name, w.daemon, w.is_alive())
# case: lock
import threading
n, lock = 0, threading.Lock()
def f():
    global n
    for _ in range(500):
        with lock: n += 1
ts = [threading.Thread(target=f) for _ in range(4)]
for t in ts: t.start()
for t in ts: t.join()
n, lock.locked()
# case: producer-and-consumer
import queue, threading
q, r = queue.Queue(2), []
def f():
    while (x := q.get()) is not None:
        r.append(x * x); q.task_done()
    q.task_done()
t = threading.Thread(target=f)
t.start()
for x in [1, 2, 3, None]: q.put(x)
q.join(); t.join()
r
# case: condition
import threading
c, r = threading.Condition(), []
def f():
    with c:
        c.wait_for(lambda: r)
        r.append('seen')
t = threading.Thread(target=f)
t.start()
with c:
    r.append('set'); c.notify_all()
t.join()
r
# case: event-semaphore-barrier
import threading
e, s, b, r = threading.Event(), threading.BoundedSemaphore(1), threading.Barrier(2), []
def f():
    e.wait()
    with s: r.append(1)
    b.wait()
t = threading.Thread(target=f)
t.start()
e.set(); b.wait(); t.join()
r, e.wait(0.01), threading.Event().wait(0.01)
# case: recursive-lock
import threading
l = threading.RLock()
c = threading.Condition(l)
with l, l:
    got = c.wait(0.01)
got, l.acquire(), l.release()
# case: timer
import threading
r = []
t = threading.Timer(0.05, r.append, ['late'])
t.start()
u = threading.Timer(50, r.append, ['never'])
u.start()
u.cancel()
t.join()
r
# case: pool
from concurrent.futures import ThreadPoolExecutor, as_completed, wait
with ThreadPoolExecutor(3) as p:
    fs = [p.submit(pow, 2, i) for i in range(5)]
    wait(fs)
    a = sorted(f.result() for f in as_completed(fs))
    b = list(p.map(lambda x: x * x, range(4)))
a, b
# case: current-thread
import threading
r = []
t = threading.Thread(target=lambda: r.append(threading.current_thread() is t))
t.start(); t.join()
r, threading.current_thread().name
# case: error-of-a-future
from concurrent.futures import ThreadPoolExecutor
def f(): return 1 / 0
with ThreadPoolExecutor() as p: e = p.submit(f).exception()
str(e)
