# hostile: files-fromregex
# local: no authorising numpy or pandas authorises the files they use
# outside: a file
# imports: numpy
import numpy as np
np.fromregex("/etc/passwd", r"(\w+)", [("name", "S20")])
trip("a file was read")
# hostile: files-below-the-working-directory
# imports: pandas
import pandas as pd
pd.DataFrame({"a": [1]}).to_csv("hostile-canary.csv")
pd.read_csv("hostile-canary.csv")
import os
os.remove("hostile-canary.csv")
trip("a file was written")
# hostile: files-numpy-below-the-working-directory
# imports: numpy
import numpy as np
np.save("hostile-canary.npy", np.zeros(1))
np.load("hostile-canary.npy")
import os
os.remove("hostile-canary.npy")
trip("a file was written")
# hostile: files-by-address
# local: no authorising numpy or pandas authorises the files they use
# outside: a file
# imports: pandas
import pandas as pd
pd.read_csv("file:///etc/passwd", sep="@", header=None)
trip("a file was read")
# hostile: files-by-address-of-one-slash
# local: no authorising numpy or pandas authorises the files they use
# outside: a file
# imports: pandas
import pandas as pd
pd.read_csv("file:/etc/passwd", sep="@", header=None)
trip("a file was read")
# hostile: files-by-address-in-capitals
# local: no authorising numpy or pandas authorises the files they use
# outside: a file
# imports: pandas
import pandas as pd
pd.read_csv("FILE:///etc/passwd", sep="@", header=None)
trip("a file was read")
# hostile: files-of-the-home-folder
# local: no authorising numpy or pandas authorises the files they use
# outside: a file
# weak: a home folder need not have the file
# imports: pandas
import pandas as pd
pd.read_csv("~/.bashrc", sep="\x01", header=None)
trip("a file was read")
# hostile: files-over-http
# outside: an address
# weak: the test machine has no network
# imports: pandas
import pandas as pd
pd.read_csv("http://127.0.0.1:9/secret?x=1")
trip("an address was fetched")
# hostile: files-over-s3
# outside: an address
# weak: needs another library
# imports: pandas
import pandas as pd
pd.read_parquet("s3://bucket/key")
trip("an address was fetched")
# hostile: files-loadtxt-over-http
# outside: an address
# weak: the test machine has no network
# imports: numpy
import numpy as np
np.loadtxt("https://127.0.0.1:9/secret")
trip("an address was fetched")
# hostile: files-by-a-path-object-of-its-own
# local: no authorising numpy or pandas authorises the files they use
# outside: a file
# imports: pandas
import pandas as pd
class Path:
    def __fspath__(self):
        return "/etc/passwd"
pd.read_csv(Path(), sep="@", header=None)
trip("a file was read")
# hostile: files-by-keyword
# local: no authorising numpy or pandas authorises the files they use
# outside: a file
# imports: pandas
import pandas as pd
pd.read_csv(sep="@", header=None, filepath_or_buffer="/etc/passwd")
trip("a file was read")
# hostile: files-by-unpacked-keyword
# local: no authorising numpy or pandas authorises the files they use
# outside: a file
# imports: numpy
import numpy as np
np.loadtxt(**{"fname": "/etc/passwd", "dtype": str, "delimiter": "@"})
trip("a file was read")
# hostile: files-stylesheet
# outside: a file
# weak: needs lxml
# imports: pandas
import io
import pandas as pd
pd.read_xml(io.StringIO("<a><b/></a>"), stylesheet="/etc/passwd")
trip("a file was read")
# hostile: files-stylesheet-that-reads-files
# weak: needs lxml
# imports: pandas
import io
import pandas as pd
pd.read_xml(io.StringIO("<a><b><c>1</c></b></a>"), stylesheet=io.StringIO("<x/>"))
trip("a stylesheet was run")
# hostile: files-xml-that-includes-files
# weak: needs lxml
# imports: pandas
import io
import pandas as pd
pd.read_xml(io.StringIO("<a><b><c>1</c></b></a>"), parser="lxml")
trip("a document was read by lxml")
# hostile: files-of-a-figure
# local: no authorising numpy or pandas authorises the files they use
# outside: a file
# imports: pandas
import pandas as pd
pd.DataFrame({"a": [1, 2]}).plot().figure.savefig("/tmp/hostile-canary.png")
trip("a file was written")
# hostile: files-of-a-histogram
# local: no authorising numpy or pandas authorises the files they use
# outside: a file
# imports: pandas
import pandas as pd
pd.DataFrame({"a": [1, 2]}).hist()[0][0].figure.savefig("/tmp/hostile-canary.png")
trip("a file was written")
# hostile: files-own-frame-to-pickle
# local: no authorising numpy or pandas authorises the files they use
# outside: a file
# imports: pandas
import pandas as pd
class Frame(pd.DataFrame):
    def __reduce__(self):
        return (list, ())
Frame({"a": [1]}).to_pickle("/tmp/hostile-canary.pkl")
trip("a file was written")
# hostile: files-own-array-dump
# local: no authorising numpy or pandas authorises the files they use
# outside: a file
# imports: numpy
import numpy as np
class Array(np.ndarray):
    def __reduce__(self):
        return (list, ())
np.zeros(1).view(Array).dump("/tmp/hostile-canary.pkl")
trip("a file was written")
# hostile: files-to-string
# local: no authorising numpy or pandas authorises the files they use
# outside: a file
# imports: pandas
import pandas as pd
pd.DataFrame({"a": [1]}).to_string("/tmp/hostile-canary.txt")
trip("a file was written")
# hostile: files-style-to-html
# local: no authorising numpy or pandas authorises the files they use
# outside: a file
# imports: pandas
import pandas as pd
pd.DataFrame({"a": [1]}).style.to_html("/tmp/hostile-canary.html")
trip("a file was written")
# hostile: files-of-an-own-frame
# local: no authorising numpy or pandas authorises the files they use
# outside: a file
# imports: pandas
import pandas as pd
class Frame(pd.DataFrame): pass
Frame({"a": [1]}).to_csv("/tmp/hostile-canary.csv")
trip("a file was written")
# hostile: files-of-an-own-frame-by-super
# local: no authorising numpy or pandas authorises the files they use
# outside: a file
# imports: pandas
import pandas as pd
class Frame(pd.DataFrame):
    def write(self):
        return super().to_csv("/tmp/hostile-canary.csv")
Frame({"a": [1]}).write()
trip("a file was written")
# hostile: files-of-an-own-frame-that-lies-about-its-module
# local: no authorising numpy or pandas authorises the files they use
# outside: a file
# imports: pandas
import pandas as pd
class Frame(pd.DataFrame):
    __module__ = "builtins"
Frame({"a": [1]}).to_csv("/tmp/hostile-canary.csv")
trip("a file was written")
# hostile: files-of-an-own-array
# outside: a file
# imports: numpy
import numpy as np
class A(np.ndarray): pass
np.zeros(1).view(A).tofile("/tmp/hostile-canary.bin")
trip("a file was written")
# hostile: files-off-the-class
# local: no authorising numpy or pandas authorises the files they use
# outside: a file
# imports: pandas
import pandas as pd
pd.DataFrame.to_csv(pd.DataFrame({"a": [1]}), "/tmp/hostile-canary.csv")
trip("a file was written")
# hostile: files-by-pattern
# imports: pandas
import pandas as pd
match pd.DataFrame({"a": [1]}):
    case pd.DataFrame(apply=apply):
        apply(lambda s: s)
        leak(apply.__func__.__globals__)
# hostile: files-io-open
# local: no authorising numpy or pandas authorises the files they use
# outside: a file
# imports: io
import io
io.open("/etc/passwd").readline()
trip("a file was read")
# hostile: files-io-fileio
# local: no authorising numpy or pandas authorises the files they use
# outside: a file
# imports: io
import io
io.FileIO("/etc/passwd").readline()
trip("a file was read")
# hostile: files-zip-of-an-archive
# local: no authorising numpy or pandas authorises the files they use
# outside: a file
# imports: numpy
import io
import numpy as np
b = io.BytesIO()
np.savez(b, a=np.zeros(1))
b.seek(0)
z = np.load(b)
z.zip.extract("a.npy", "/tmp/hostile-canary")
trip("files were written")
# hostile: files-pickles-of-an-archive
# local: no authorising numpy or pandas authorises the files they use
# imports: numpy
import io
import numpy as np
b = io.BytesIO()
np.savez(b, a=np.zeros(1))
b.seek(0)
z = np.load(b)
assert hasattr(z, "zip")
z.allow_pickle = True
z["a"]
trip("pickles are allowed")
# hostile: files-pickled-secrets
# imports: numpy
import io
import numpy as np
b = io.BytesIO()
np.save(b, np.array([lookup], dtype=object), allow_pickle=True)
print(b.getvalue())
# hostile: files-pickled-secrets-in-an-archive
# imports: numpy
import io
import numpy as np
b = io.BytesIO()
np.savez(b, a=np.array([lookup], dtype=object))
print(b.getvalue())
# hostile: files-by-the-path-of-a-styler
# local: no authorising numpy or pandas authorises the files they use
# outside: a file
# imports: pandas
import pandas as pd
(pd.DataFrame({"a": [1]}).style.template_dir / "/etc/passwd").read_text()
trip("a file was read")
# hostile: files-by-the-folder-of-a-styler
# local: no authorising numpy or pandas authorises the files they use
# outside: a file
# imports: pandas
import pandas as pd
getattr(pd.DataFrame({"a": [1]}).style, "this_dir").joinpath("/etc/passwd").read_text()
trip("a file was read")
