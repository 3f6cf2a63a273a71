# hostile: numpy-load-pickle
# imports: numpy
import numpy as np
leak(np.load.__globals__ if hasattr(np.load, "__globals__") else np.load.__wrapped__.__globals__)
np.load("/nonexistent.npy", allow_pickle=True)
# hostile: numpy-save-writes-a-file
# local: no authorising numpy or pandas authorises what they do
# outside: a file
# imports: numpy
import numpy as np
np.save("/tmp/hostile-canary.npy", np.zeros(1))
trip("a file was written")
# hostile: numpy-savetxt-writes-a-file
# local: no authorising numpy or pandas authorises what they do
# outside: a file
# imports: numpy
import numpy as np
np.savetxt("/tmp/hostile-canary.txt", np.zeros(1))
trip("a file was written")
# hostile: numpy-tofile
# outside: a file
# imports: numpy
import numpy as np
np.zeros(1).tofile("/tmp/hostile-canary.bin")
trip("a file was written")
# hostile: numpy-fromfile
# outside: a file
# imports: numpy
import numpy as np
print(np.fromfile("/etc/passwd", dtype="u1")[:5])
trip("a file was read")
# hostile: numpy-genfromtxt
# local: no authorising numpy or pandas authorises what they do
# outside: a file
# imports: numpy
import numpy as np
np.genfromtxt("/etc/passwd", dtype=str, delimiter="\n")
trip("a file was read")
# hostile: numpy-loadtxt
# local: no authorising numpy or pandas authorises what they do
# outside: a file
# imports: numpy
import numpy as np
np.loadtxt("/etc/passwd", dtype=str, delimiter="@")
trip("a file was read")
# hostile: numpy-memmap
# local: no authorising numpy or pandas authorises what they do
# outside: a file
# imports: numpy
import numpy as np
np.memmap("/etc/passwd", mode="r")
trip("a file was read")
# hostile: numpy-datasource
# local: no authorising numpy or pandas authorises what they do
# outside: a file
# imports: numpy
import numpy as np
np.lib.npyio.DataSource(None).open("/etc/passwd").read(1)
trip("a file was read")
# hostile: numpy-ctypeslib
# imports: numpy
import numpy as np
leak(np.ctypeslib.ctypes)
# hostile: numpy-ctypeslib-load-library
# imports: numpy
import numpy as np
leak(np.ctypeslib.load_library.__globals__)
# hostile: numpy-array-ctypes
# imports: numpy
import numpy as np
leak(np.zeros(1).ctypes.data_as.__func__.__globals__)
# hostile: numpy-f2py
# local: no authorising numpy or pandas authorises what they do
# imports: numpy
import numpy as np
leak(np.f2py)
# hostile: numpy-os
# imports: numpy
import numpy as np
leak(getattr(np.lib, "_npyio_impl", np.lib.npyio).os)
# hostile: numpy-sys
# imports: numpy
import numpy as np
leak(getattr(np.lib, "_utils_impl", np).sys)
# hostile: numpy-testing-runstring
# local: no what an authorised module offers is authorised
# imports: numpy
import numpy as np
import numpy.testing
numpy.testing.runstring("import hostile_canary; hostile_canary.trip()", {})
# hostile: numpy-testing-rundocs
# imports: numpy
from numpy.testing import rundocs
leak(rundocs.__globals__)
# hostile: numpy-distutils-exec-command
# imports: numpy
import numpy.f2py as f
leak(f.subprocess)
# hostile: numpy-array-dump
# local: no authorising numpy or pandas authorises what they do
# outside: a file
# imports: numpy
import numpy as np
np.zeros(1).dump("/tmp/hostile-canary.pkl")
trip("a file was written")
# hostile: numpy-object-array-pickle-load
# imports: numpy
import numpy as np
leak(getattr(np.lib, "_format_impl", np.lib.format).pickle)
# hostile: numpy-vectorize-getattr
# imports: numpy
import numpy as np
leak(np.vectorize(lambda n: getattr(search, n), otypes=[object])("__globals__").item())
# hostile: numpy-frompyfunc-getattr
# imports: numpy
import numpy as np
leak(np.frompyfunc(getattr, 2, 1)(search, "__globals__"))
# hostile: numpy-object-array-method
# imports: numpy
import numpy as np
leak(np.array([search], dtype=object).item().__globals__)
# hostile: numpy-write-into-module
# imports: numpy
import numpy as np
np.pi = 3
# hostile: numpy-write-into-submodule
# imports: numpy
import numpy as np
np.linalg.planted = 1
np.planted = 1
# hostile: numpy-dtype-walk
# imports: numpy
import numpy as np
leak(np.dtype("i4").type.__mro__[-1].__subclasses__())
# hostile: numpy-from-import-private
# imports: numpy
from numpy.lib import _utils_impl
leak(_utils_impl.os)
# hostile: numpy-core-from-import
# imports: numpy
import numpy as np
leak(np.core.multiarray if hasattr(np, "core") else np._core)
# hostile: numpy-print-function-hook
# imports: numpy
import numpy as np
leak(np.set_printoptions.__globals__ if hasattr(np.set_printoptions, "__globals__") else np.set_printoptions.__wrapped__.__globals__)
# hostile: numpy-huge-ones
# imports: numpy
# limit: memory of a single call
# memory: the library itself refuses the allocation at once, with an error
import numpy as np
np.ones(10 ** 12)
# hostile: numpy-huge-arange
# imports: numpy
# limit: memory of a single call
# memory: the library itself refuses the allocation at once, with an error
import numpy as np
np.arange(10 ** 11)
# hostile: numpy-huge-full
# imports: numpy
# limit: memory of a single call
# memory: the library itself refuses the allocation at once, with an error
import numpy as np
np.full((10 ** 6, 10 ** 6), 7)
# hostile: numpy-huge-eye
# imports: numpy
# limit: memory of a single call
# memory: the library itself refuses the allocation at once, with an error
import numpy as np
np.eye(10 ** 6) + 1
# hostile: numpy-huge-broadcast
# imports: numpy
# limit: memory of a single call
# memory: the library itself refuses the allocation at once, with an error
import numpy as np
a = np.ones(10 ** 6)
a[:, None] + a[None, :]
# hostile: numpy-huge-tile
# imports: numpy
# limit: memory of a single call
# memory: the library itself refuses the allocation at once, with an error
import numpy as np
np.tile(np.ones(1000), 10 ** 9)
# hostile: pandas-read-pickle
# imports: pandas
import pandas as pd
leak(pd.read_pickle.__globals__)
# hostile: pandas-read-csv-file
# local: no authorising numpy or pandas authorises what they do
# outside: a file
# imports: pandas
import pandas as pd
pd.read_csv("/etc/passwd", sep=":", header=None)
trip("a file was read")
# hostile: pandas-to-csv-file
# local: no authorising numpy or pandas authorises what they do
# outside: a file
# imports: pandas
import pandas as pd
pd.DataFrame({"a": [1]}).to_csv("/tmp/hostile-canary.csv")
trip("a file was written")
# hostile: pandas-to-pickle
# local: no authorising numpy or pandas authorises what they do
# outside: a file
# imports: pandas
import pandas as pd
pd.DataFrame({"a": [1]}).to_pickle("/tmp/hostile-canary.pkl")
trip("a file was written")
# hostile: pandas-to-json-file
# local: no authorising numpy or pandas authorises what they do
# outside: a file
# imports: pandas
import pandas as pd
pd.DataFrame({"a": [1]}).to_json("/tmp/hostile-canary.json")
trip("a file was written")
# hostile: pandas-read-fwf-file
# local: no authorising numpy or pandas authorises what they do
# outside: a file
# imports: pandas
import pandas as pd
pd.read_fwf("/etc/passwd")
trip("a file was read")
# hostile: pandas-query-at-variable
# imports: pandas
import pandas as pd
pd.DataFrame({"a": [1]}).query("@leak(@search.__globals__) == 'x'")
# hostile: pandas-eval-at-variable
# imports: pandas
import pandas as pd
pd.DataFrame({"a": [1]}).eval("b = @leak(@search.__globals__)")
# hostile: pandas-top-level-eval
# local: no authorising numpy or pandas authorises what they do
# imports: pandas
import pandas as pd
pd.eval("f(s.__closure__)", engine="python", parser="pandas", local_dict={"f": leak, "s": search})
# hostile: pandas-query-dunder-import
# imports: pandas
import pandas as pd
pd.DataFrame({"a": [1]}).query("@pd.io.common.os.environ.__setitem__('HOSTILE_CANARY', '1') or a == 1", engine="python")
# hostile: pandas-io-common-os
# imports: pandas
import pandas as pd
leak(pd.io.common.os)
# hostile: pandas-sys
# imports: pandas
import pandas as pd
leak(pd.compat.sys)
# hostile: pandas-core-walk
# imports: pandas
import pandas as pd
leak(pd.core.frame.__builtins__)
# hostile: pandas-read-sql
# imports: pandas
import pandas as pd
leak(pd.read_sql.__globals__)
# hostile: pandas-read-clipboard
# imports: pandas
import pandas as pd
leak(pd.read_clipboard.__globals__)
# hostile: pandas-read-html-network
# local: no authorising numpy or pandas authorises what they do
# imports: pandas
import pandas as pd
leak(pd.read_html.__globals__ if hasattr(pd.read_html, "__globals__") else pd.io)
# hostile: pandas-apply-getattr
# imports: pandas
import pandas as pd
leak(pd.Series(["__globals__"]).apply(lambda n: getattr(search, n))[0])
# hostile: pandas-subclass-init-globals
# imports: pandas
import pandas as pd
class C(pd.Series):
    pass
leak(C.__init__.__globals__)
# hostile: pandas-series-pipe
# imports: pandas
import pandas as pd
leak(pd.Series([1]).pipe(lambda s: s.__class__.__init__.__globals__))
# hostile: pandas-write-into-class
# imports: pandas
import pandas as pd
pd.DataFrame.planted = lambda self: 1
# hostile: pandas-register-accessor
# local: no authorising numpy or pandas authorises what they do
# imports: pandas
import pandas as pd
pd.api.extensions.register_dataframe_accessor("planted")(lambda df: 1)
# hostile: pandas-excel-writer
# imports: pandas
import pandas as pd
leak(pd.ExcelWriter.__init__.__globals__)
# hostile: pandas-hdf-store
# imports: pandas
import pandas as pd
leak(pd.HDFStore.__init__.__globals__)
# hostile: pandas-testing-walk
# imports: pandas
import pandas as pd
leak(pd.testing.assert_frame_equal.__globals__)
# hostile: pandas-numpy-through
# imports: pandas
import pandas as pd
leak(pd.core.common.np)
# hostile: pandas-huge-repeat
# imports: pandas
# limit: memory of a single call
# memory: the library itself refuses the allocation at once, with an error
import pandas as pd
pd.Series([1, 2, 3]).repeat(10 ** 10)
# hostile: pandas-huge-cross-merge
# imports: pandas
# limit: memory of a single call
# memory: the library itself refuses the allocation at once, with an error
import pandas as pd
d = pd.DataFrame({"a": range(200000)})
d.merge(d, how="cross")
