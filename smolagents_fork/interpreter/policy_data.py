"""What programs may do with numpy and pandas: data only, beside ``policy``.

Both libraries reach attributes by name, open files and addresses, import modules by name and read
memory where they are told it is. Names that do that are listed here; ``replaced_data`` and
``data_methods`` decide by them.
"""

from __future__ import annotations

from .build import words

__all__ = [
    "CLOSED_MODULES",
    "DATA_ATTRIBUTES",
    "MEMORY_PROTOCOLS",
    "METHOD_NAMES",
    "PATH_PARAMETERS",
    "QUERY_ATTRIBUTES",
]

#: Protocols by which an object says at which address its memory is. numpy believes it.
MEMORY_PROTOCOLS = frozenset({"__array_interface__", "__array_struct__"})

#: Public names that are ordinary on any other object and dangerous on one of numpy or pandas.
DATA_ATTRIBUTES = frozenset(
    words(
        """
        MultiIndex agg aggregate apply baseclass boxplot capsule cast cffi chararray debug_print env
        from_codes from_custom_template hist info loader ndarray pivot_table plot readinto
        readinto1 recarray resize sample set_codes set_state template_dir template_html
        template_html_style template_html_table template_latex template_string template_typst
        this_dir transform view
        """
    )
)

#: Method names that pandas may be given as strings: they compute, and take nothing that leads out.
METHOD_NAMES = frozenset(
    words(
        """
        abs all any argmax argmin bfill ceil clip corr corrwith cos count cov cumcount cummax
        cummin cumprod cumsum describe diff drop_duplicates dropna duplicated exp expm1 ffill
        fillna first floor head idxmax idxmin interpolate is_monotonic_decreasing
        is_monotonic_increasing is_unique isna isnull kurt kurtosis last len log log10 log1p log2
        mad max mean median min mode ngroup notna notnull nth nunique ohlc pct_change prod product
        ptp quantile rank rint round sem shift sign sin size skew sort_index sort_values
        sqrt square std sum tail tan tanh unique value_counts var
        """
    )
)

#: Attributes a query string may use; everything else in it that looks like one is refused.
QUERY_ATTRIBUTES = frozenset(
    words(
        "str dt isin isna notna isnull notnull contains startswith endswith lower upper strip len "
        "abs between year month day hour minute second weekday dayofweek date mean sum min max "
        "median std round values index "
    )
)

#: Parameters of functions and methods that name a file or an address.
PATH_PARAMETERS = frozenset(
    words(
        "filepath_or_buffer path_or_buf path_or_buffer path io buf file fname fid excel_writer fp "
        "stylesheet filename "
    )
)

#: Submodules that ``numpy.*`` and ``pandas.*`` do not stand for: files, loaders, compilers and
#: memory. An author who means one names it.
CLOSED_MODULES = frozenset(
    words(
        """
        numpy.compat numpy.core numpy.ctypeslib numpy.distutils numpy.f2py numpy.lib numpy.ma.core
        numpy.ma.extras numpy.ma.mrecords numpy.ma.testutils numpy.ma.timer_comparison numpy.matlib
        numpy.matrixlib numpy.random.bit_generator numpy.random.mtrand numpy.testing numpy.tests
        pandas.api.executors pandas.api.interchange pandas.api.internals
        pandas.compat pandas.conftest pandas.core pandas.io pandas.plotting pandas.testing
        pandas.tests pandas.util
        """
    )
)
