"""Results as text that fits 80 columns."""

NOTICEABLE = 1.15  # repeats differ by ten to twenty per cent on a machine that others use too


def table(results: dict, libraries: list[str], reference: str) -> str:
    """One row a workload: times as ratios to the reference, and the reference's own time."""
    names = [name for name in libraries if name != reference]
    head = ["time / " + reference, *names, f"{reference} itself"]
    rows = [[name, *(ratio(row, library, reference) for library in names), duration(row.get(reference))] for name, row in results.items()]
    widths = [max(len(row[column]) for row in [head, *rows]) for column in range(len(head))]
    lines = [
        "  ".join(cell.ljust(width) if i == 0 else cell.rjust(width) for i, (cell, width) in enumerate(zip(row, widths, strict=True)))
        for row in [head, *rows]
    ]
    return "\n".join([lines[0], "-" * len(lines[0]), *lines[1:]])


def ratio(row: dict, library: str, reference: str) -> str:
    if library not in row or reference not in row:
        return "-"
    value = row[library][f"/{reference}"]
    return f"{value:.0f}" if value >= 10 else f"{value:.2f}"


def duration(entry: dict | None) -> str:
    if entry is None:
        return "-"
    seconds = entry["seconds"]
    if seconds >= 1:
        return f"{seconds:.2f} s"
    return f"{1e3 * seconds:.1f} ms" if seconds >= 1e-3 else f"{1e6 * seconds:.0f} us"


def moved(before: dict[str, float], after: dict[str, float]) -> list[str]:
    """A sentence for each ratio that differs noticeably from the stored one."""
    lines = []
    for name, now in after.items():
        then = before.get(name)
        if then and not 1 / NOTICEABLE < now / then < NOTICEABLE:
            lines.append(f"{name} moved: {then:.2f} -> {now:.2f} ({'faster' if now < then else 'slower'})")
    return lines
