"""Colours and type of every picture, as CSS. Leaf, operation and output differ in shape too: colour is never alone."""

# name: (light, dark). Contrast of text on its ground is at least 4.5, of outlines at least 3, in both.
PALETTE = {
    "paper": ("#ffffff", "#14171a"),
    "ink": ("#1b1b1b", "#f1f1ef"),
    "muted": ("#57534d", "#bdb9b2"),
    "line": ("#7d7870", "#8f8b84"),
    "op-fill": ("#f5f4f1", "#2a2c2e"),
    "op-edge": ("#79746b", "#a8a39a"),
    "leaf-fill": ("#e2f0fb", "#10324b"),
    "leaf-edge": ("#0a66a8", "#6fb8f0"),
    "out-fill": ("#dff3ea", "#0f3a2c"),
    "out-edge": ("#00714e", "#55cba0"),
    "custom-fill": ("#f8e9f3", "#43213b"),
    "custom-edge": ("#97397a", "#e79fd0"),
    "group-fill": ("#f1edfb", "#2f2848"),
    "group-edge": ("#6a51a3", "#b9a5ee"),
    "grad": ("#a03a00", "#ffb485"),
    "grad-fill": ("#fff1e6", "#3d2412"),
    "grad-edge": ("#cc5a10", "#ff9c57"),
    "focus": ("#0a4fd1", "#8fb8ff"),
    "heat-high": ("#4197d9", "#2470b0"),
    "heat-low": ("#d97a30", "#9e5020"),
}


def variables(which: str) -> str:
    """The palette as CSS custom properties; `which` is "light" or "dark"."""
    return "".join(f"--al-{name}:{pair[which == 'dark']};" for name, pair in PALETTE.items())


def paint(**properties: str) -> str:
    """CSS that colours by the palette: `paint(fill="ink")`."""
    # The plain colour first, for renderers that do not know var().
    return "".join(
        f"{key.replace('_', '-')}:{PALETTE[name][0]};{key.replace('_', '-')}:var(--al-{name},{PALETTE[name][0]});"
        for key, name in properties.items()
    )


MONO = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono','Liberation Mono',monospace"

STYLE = f"""
.al-svg{{font-family:{MONO};font-size:14px;direction:ltr}}
.al-svg text{{{paint(fill="ink")}}}
.al-paper{{{paint(fill="paper")}}}
.al-box{{stroke-width:1.5;{paint(fill="op-fill", stroke="op-edge")}}}
.al-leaf .al-box{{{paint(fill="leaf-fill", stroke="leaf-edge")}}}
.al-custom .al-box{{{paint(fill="custom-fill", stroke="custom-edge")}}}
.al-out .al-box{{{paint(fill="out-fill", stroke="out-edge")}}}
.al-group .al-box{{{paint(fill="group-fill", stroke="group-edge")}}}
.al-plus{{fill:none;stroke-width:2;{paint(stroke="ink")}}}
.al-key{{fill:none}}
.al-rim{{fill:none;stroke-width:1;{paint(stroke="out-edge")}}}
.al-svg .al-head{{font-weight:700;font-size:16px}}
.al-svg .al-name{{{paint(fill="muted")}}}
.al-svg .al-note{{{paint(fill="muted")}}}
.al-svg .al-halo{{paint-order:stroke;stroke-width:5px;{paint(stroke="paper")}}}
.al-svg .al-grad{{font-weight:600;{paint(fill="grad")}}}
.al-line{{fill:none;stroke-width:1.5;{paint(stroke="line")}}}
.al-tip{{{paint(fill="line")}}}
.al-back{{{paint(fill="grad-edge")}}}
.al-pill>rect{{stroke-width:1;{paint(fill="grad-fill", stroke="grad-edge")}}}
.al-svg .al-pill text{{font-weight:600;text-anchor:middle;{paint(fill="grad")}}}
.al-grad,.al-pill,.al-back{{visibility:hidden}}
.al-on .al-grad,.al-on .al-pill,.al-on .al-back{{visibility:visible}}
.al-edge.al-on .al-line{{stroke-width:2;{paint(stroke="grad-edge")}}}
.al-edge.al-on .al-tip{{visibility:hidden}}
.al-edge.al-now .al-line{{stroke-width:3.5}}
.al-node.al-now .al-box{{stroke-width:3.5;{paint(stroke="grad-edge")}}}
.al-node.al-now .al-rim{{{paint(stroke="grad-edge")}}}
.al-axes{{stroke-width:1;{paint(fill="paper", stroke="line")}}}
.al-grid{{fill:none;stroke-width:1;stroke-opacity:.25;{paint(stroke="line")}}}
.al-svg .al-t.al-grad{{visibility:visible}}
.al-l{{fill:none;stroke-width:2.2;{paint(stroke="line")}}}
.al-l-a{{{paint(stroke="leaf-edge")}}}.al-l-b{{stroke-dasharray:7 4;{paint(stroke="out-edge")}}}
.al-l-c{{stroke-dasharray:2 4;{paint(stroke="custom-edge")}}}.al-l-grad{{stroke-dasharray:12 3;{paint(stroke="grad-edge")}}}
.al-m-a{{{paint(fill="leaf-edge")}}}.al-m-b{{{paint(fill="out-edge")}}}.al-m-c{{{paint(fill="custom-edge")}}}
.al-m-grad{{{paint(fill="grad-edge")}}}.al-m-line{{{paint(fill="line")}}}
.al-cell{{stroke-width:1.2;{paint(fill="op-fill", stroke="op-edge")}}}
.al-k-leaf,.al-k-a{{{paint(fill="leaf-fill", stroke="leaf-edge")}}}.al-k-out,.al-k-b{{{paint(fill="out-fill", stroke="out-edge")}}}
.al-k-custom,.al-k-c{{{paint(fill="custom-fill", stroke="custom-edge")}}}
.al-k-grad{{stroke-width:2;{paint(fill="grad-fill", stroke="grad-edge")}}}
.al-k-empty{{stroke-dasharray:4 3;{paint(fill="paper", stroke="line")}}}
.al-k-saved{{{paint(fill="out-fill", stroke="out-edge")}}}
.al-k-freed{{stroke-dasharray:4 3;fill:none;{paint(stroke="line")}}}
.al-svg .al-value{{{paint(fill="leaf-edge")}}}.al-svg .al-node .al-value{{{paint(fill="ink")}}}
.al-svg .al-saved{{{paint(fill="out-edge")}}}.al-svg .al-freed{{{paint(fill="muted")}}}
.al-hit{{fill:none;stroke:none;pointer-events:all}}.al-hit-line{{fill:none;stroke:transparent;stroke-width:24;pointer-events:stroke}}
.al-ring{{stroke-width:2.5;{paint(fill="paper", stroke="focus")}}}.al-grip{{fill:none;stroke-width:2;{paint(stroke="focus")}}}
.al-blades{{fill:none;stroke-width:1.5;{paint(stroke="ink")}}}
.al-lost .al-line{{stroke-dasharray:3 6}}.al-lost .al-tip{{fill:none;{paint(stroke="line")}}}
.al-heat-high{{stroke:none;{paint(fill="heat-high")}}}.al-heat-low{{stroke:none;{paint(fill="heat-low")}}}
.al-heat-edge{{fill:none;stroke-width:1;{paint(stroke="op-edge")}}}.al-heat-sign{{{paint(fill="grad")}}}
.al-r{{stroke:none}}.al-r-paper{{{paint(fill="paper")}}}.al-r-op{{{paint(fill="op-fill")}}}
.al-r-a{{{paint(fill="leaf-fill")}}}.al-r-b{{{paint(fill="out-fill")}}}.al-r-c{{{paint(fill="custom-fill")}}}
""".strip()

# A picture of its own is an image to the notebook, which cannot tell it its theme. So it has no ground, its lines have
# colours that are seen on light and on dark, and its words are in boxes; what the system asks for chooses their colours.
SEEN_ON_BOTH = "--al-line:#7d7870;--al-grad-edge:#cc5a10;"
ALONE = f"""{STYLE}
.al-paper{{fill:none}}
.al-key{{{paint(fill="paper")}}}
.al-svg{{{SEEN_ON_BOTH}}}
@media (prefers-color-scheme:dark){{.al-svg{{{variables("dark")}{SEEN_ON_BOTH}}}}}"""
