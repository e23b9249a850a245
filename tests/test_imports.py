"""No module imports itself by way of others, imports for types and inside functions included."""

from __future__ import annotations

import grimp
import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components


def circles(imports: dict[str, set[str]]) -> list[list[str]]:
    """Modules that import each other, directly or not."""
    names = sorted(imports)
    place = {name: i for i, name in enumerate(names)}
    pairs = [(place[one], place[other]) for one in names for other in imports[one]]
    rows, columns = np.array(pairs).T
    graph = coo_array((np.ones(len(pairs)), (rows, columns)), shape=(len(names), len(names)))
    _, label = connected_components(graph, connection="strong")
    together = [np.flatnonzero(label == one) for one in np.flatnonzero(np.bincount(label) > 1)]
    return [[names[i] for i in group] for group in together]


def test_a_circle_is_seen() -> None:
    imports = {"a": {"b"}, "b": {"c"}, "c": {"b", "d"}, "d": set[str]()}
    assert circles(imports) == [["b", "c"]]


def test_no_module_imports_itself_by_way_of_others() -> None:
    graph = grimp.build_graph("retgen", exclude_type_checking_imports=False, cache_dir=None)
    imports = {name: graph.find_modules_directly_imported_by(name) for name in graph.modules}
    assert len(imports) > 300
    assert "retgen.statistics.clustered" in imports["retgen.evaluation.scoring.result"]
    assert circles(imports) == []
