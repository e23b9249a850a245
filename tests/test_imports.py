"""No module imports itself by way of others, imports for types and inside functions included; and
tests know public names only.
"""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator
from pathlib import Path

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


def test_no_module_imports_itself_by_way_of_others() -> None:
    graph = grimp.build_graph("retgen", exclude_type_checking_imports=False, cache_dir=None)
    imports = {name: graph.find_modules_directly_imported_by(name) for name in graph.modules}
    assert len(imports) > 300
    assert "retgen.statistics.clustered" in imports["retgen.evaluation.scoring.result"]
    assert circles(imports) == []


def test_no_family_imports_another() -> None:
    graph = grimp.build_graph("retgen", cache_dir=None)
    families = [one for one in graph.find_children("retgen.generators") if graph.find_children(one)]
    assert {"retgen.generators.limit", "retgen.generators.world_twins"} <= {*families}
    found = {
        (one, other)
        for one, other in itertools.permutations(families, 2)
        if graph.direct_import_exists(importer=one, imported=other, as_packages=True)
    }
    assert found == set()


_PRIVATE = re.compile(r"_(?!_|replace$|asdict$|fields$|make$)")  # but what a NamedTuple has


def private_names(code: str) -> Iterator[str]:
    """Private names that code imports, reads of an object, or patches."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{one.name}" for one in node.names if is_private(one.name))
        elif isinstance(node, ast.Attribute) and is_private(node.attr):
            if ast.unparse(node.value) != "self":
                yield ast.unparse(node)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("setattr"):
            for one in node.args[:2]:
                if isinstance(one, ast.Constant) and is_private(str(one.value).rpartition(".")[2]):
                    yield str(one.value)


def is_private(name: str) -> bool:
    return _PRIVATE.match(name) is not None


def test_tests_use_public_names() -> None:
    here = Path(__file__).parent
    found = {
        str(path.relative_to(here)): names
        for path in sorted(here.rglob("*.py"))
        if (names := list(private_names(path.read_text(encoding="utf-8"))))
    }
    assert found == {}
