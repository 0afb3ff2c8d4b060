"""Prints an executed notebook as a page of Markdown: its text, its code, and the output of the code.

Usage: python3 notebook-page.py NOTEBOOK.ipynb
"""

import json
import sys


def fenced(text: str, language: str = "") -> str:
    return f"```{language}\n{text.rstrip()}\n```"


def printed(output: dict) -> str:
    """Returns an output of a cell as Markdown: as HTML if there is any (a table), otherwise as text."""
    data = output.get("data", {})
    if "text/html" in data:
        # An empty line would end the HTML and begin Markdown.
        return "\n".join(line for line in "".join(data["text/html"]).splitlines() if line.strip())
    return fenced("".join(data.get("text/plain") or output.get("text") or []), "text")


def page(notebook: dict) -> str:
    parts = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        parts.append(source if cell["cell_type"] == "markdown" else fenced(source, "python"))
        parts += [printed(output) for output in cell.get("outputs", [])]
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file:
        print(page(json.load(file)), end="")
