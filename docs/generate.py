"""Write the pages of docs/ that come from code: the tables and the profiles.

`python docs/generate.py` writes them, `--check` only says whether they are as the code would have them.
"""

from __future__ import annotations

import sys
from pathlib import Path

from pipelines.schemas import TABLES, Table, describe
from pipelines.settings import PROFILES, Profile

DOCS = Path(__file__).resolve().parent
NOTE = "<!-- Written by docs/generate.py from {source}; change it there. -->\n\n"


def _cell(text: object) -> str:
    return str(text).replace("|", "\\|")


def _table_section(table: Table) -> str:
    lines = [
        f"## {table.name}\n",
        f"{table.meaning}\n",
        f"Key: {', '.join(f'`{name}`' for name in table.key)}. Written by `{table.writer}`"
        f"{f', partitioned by `{table.partition_by}`' if table.partition_by else ''}"
        f"{'; its version is part of a release' if table.released else ''}.\n",
        "| column | type | null | meaning | constraint |",
        "|---|---|---|---|---|",
    ]
    lines += [
        f"| `{c.name}` | `{c.type}` | {'yes' if c.nullable else 'no'} | {_cell(describe(c))} | "
        f"{f'`{_cell(c.constraint)}`' if c.constraint else ''} |"
        for c in table.columns
    ]
    return "\n".join(lines)


def tables_page() -> str:
    """docs/tables.md: every table with its columns."""
    sections = "\n\n".join(_table_section(table) for table in TABLES.values())
    return NOTE.format(source="pipelines/schemas.py") + "# Tables\n\n" + sections + "\n"


def profiles_page() -> str:
    """docs/profiles.md: every setting with its value in each profile."""
    names = list(PROFILES)
    lines = ["# Profiles\n", "Chosen with `--profile` or `ESPALIER_PROFILE`.\n",
             f"| setting | {' | '.join(names)} | meaning |", f"|---|{'---|' * len(names)}---|"]
    for setting, info in Profile.model_fields.items():
        if setting != "name":
            values = " | ".join(f"`{_cell(getattr(PROFILES[name], setting))}`" for name in names)
            lines.append(f"| `{setting}` | {values} | {_cell(info.description)} |")
    return NOTE.format(source="pipelines/settings.py") + "\n".join(lines) + "\n"


PAGES = {"tables.md": tables_page, "profiles.md": profiles_page}


def main() -> int:
    """Write the pages, or with --check name those that differ and return 1."""
    stale = [name for name, page in PAGES.items()
             if not (DOCS / name).exists() or (DOCS / name).read_text("utf-8") != page()]
    if "--check" in sys.argv[1:]:
        for name in stale:
            print(f"docs/{name} is not as the code has it. Run: make docs", file=sys.stderr)
        return 1 if stale else 0
    for name in stale:
        (DOCS / name).write_text(PAGES[name](), "utf-8")
        print(f"wrote docs/{name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
