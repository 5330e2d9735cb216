"""``python -m benchmarks``: autolab beside its peers, as ratios."""

import argparse
import json
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from benchmarks import measure
from benchmarks.libraries import LIBRARIES, installed
from benchmarks.report import moved, table
from benchmarks.workloads import WORKLOADS

STORED = Path(__file__).with_name("ratios.json")
DISTRIBUTION = {"autolab": "autolab-grad"}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Time autolab beside its peers.")
    of = f"of {', '.join(WORKLOADS)}, import; all by default"
    parser.add_argument("-w", "--workloads", nargs="+", choices=[*WORKLOADS, "import"], metavar="NAME", help=of)
    of = f"of {', '.join(LIBRARIES)}; all that are installed by default"
    parser.add_argument("-l", "--libraries", nargs="+", choices=LIBRARIES, metavar="NAME", help=of)
    parser.add_argument("--rounds", type=int, default=9, help="turns of each library; results are medians over them")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all results to a file")
    parser.add_argument("--store", action="store_true", help=f"keep autolab's ratios in {STORED.name}, to compare with")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)  # a library and a workload, in this process
    return parser.parse_args()


def versions(names: list[str]) -> dict[str, str]:
    found = {"python": platform.python_version()}
    for name in names:
        try:
            found[name] = version(DISTRIBUTION.get(name, name))
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


def main() -> int:
    options = arguments()
    if options.one:
        library, name = options.one
        print(measure.one(WORKLOADS[name], LIBRARIES[library]()[name](WORKLOADS[name].data())))
        return 0
    libraries, absent = installed(options.libraries and ["numpy", *(n for n in options.libraries if n != "numpy")])
    results, notes = {}, {name: {"all": reason} for name, reason in absent.items()}
    for name in options.workloads or [*WORKLOADS, "import"]:
        if name == "import":
            continue
        print(f"{name}: {WORKLOADS[name].question}", file=sys.stderr, flush=True)
        if WORKLOADS[name].alone:
            results[name], said = measure.in_processes(WORKLOADS[name], libraries)
        else:
            results[name], said = measure.in_turns(WORKLOADS[name], libraries, options.rounds)
        for library, reason in said.items():
            notes.setdefault(library, {})[name] = reason

    reference = "torch" if "torch" in libraries else "numpy"
    print(table(results, list(libraries), reference))
    packages = [name for name in libraries if name not in ("compiled", "numba", "minimal")]  # the others are ways to use one
    everything = {"versions": versions(packages), "results": results, "notes": notes}
    if not options.workloads or "import" in options.workloads:
        everything["import_ms"] = measure.imports(packages, min(options.rounds, 7))
        print("import, ms: " + ", ".join(f"{name} {ms:.0f}" for name, ms in everything["import_ms"].items()))
    for library, reasons in notes.items():
        for name, reason in reasons.items():
            print(f"{library}, {name}: {reason}")

    ratios = {name: row["autolab"][f"/{reference}"] for name, row in results.items() if "autolab" in row and reference in row}
    stored = json.loads(STORED.read_text()) if STORED.exists() else {}
    for line in moved(stored.get(f"autolab/{reference}", {}), ratios):
        print(line)
    if options.store:
        kept = {**stored.get(f"autolab/{reference}", {}), **{name: round(ratio, 3) for name, ratio in ratios.items()}}
        new = {**stored, f"autolab/{reference}": kept, "versions": everything["versions"]}
        STORED.write_text(json.dumps(new, indent=2) + "\n")
    if options.json:
        options.json.write_text(json.dumps(everything, indent=2) + "\n")
    return 1 if any("differs" in reason for reason in notes.get("autolab", {}).values()) else 0


if __name__ == "__main__":
    sys.exit(main())
