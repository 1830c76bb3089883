"""Builds the book: runs every notebook on all cores, then Jupyter Book with warnings as errors.

    python -m tools.build            (or: make book)

Notebooks that ran before come from `_build/.jupyter_cache`, unless something changed that they depend on: themselves,
what they import, the results they name, the lock, the data at hand. When nothing at all changed, nothing is done.

    make book LANGUAGES=en,zh        also builds the Chinese pages, from the same outputs, into `_build/html/zh`
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from concurrent.futures import (
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    as_completed,
)
from multiprocessing import get_context
from pathlib import Path

import yaml

from page import edition
from page.address import ROOT
from page.browser import HTML
from tools.depends import PACKAGES, depends_on

BUILD = HTML.parent
CACHE = BUILD / ".jupyter_cache"
STATE = BUILD / "state.json"
# of every notebook in the cache, what it depended on when it ran
KEYS = BUILD / "keys.json"
TIMEOUT = 300  # seconds a cell may take


def source(language: str) -> Path:
    """What the pages of a language are built from."""
    return ROOT if language == "en" else BUILD / language


def site(language: str) -> Path:
    """Where the pages of a language lie."""
    return HTML / edition.place(language)


def digest(paths) -> str:
    """A hash of the files under ``paths``: their names and what they hold."""
    hashed = hashlib.sha256()
    for top in sorted(map(Path, paths)):
        files = (
            sorted(p for p in top.rglob("*") if p.is_file()) if top.is_dir() else [top]
        )
        for file in files:
            if "__pycache__" in file.parts or ".ipynb_checkpoints" in file.parts:
                continue
            content = (
                hashlib.sha256(file.read_bytes()).hexdigest()
                if file.exists()
                else "missing"
            )
            hashed.update(f"{file.relative_to(ROOT)} {content}\n".encode())
    return hashed.hexdigest()


def data_at_hand() -> str:
    """Which data set notebooks will find, with the sizes and times of its files."""
    from vitlib.data.cifar10 import find_cifar10

    folder = find_cifar10()
    if folder is None:
        return "Drawn-10"
    files = (
        (p.name, p.stat().st_size, p.stat().st_mtime_ns)
        for p in sorted(folder.iterdir())
    )
    return f"{folder} {list(files)}"


def surroundings() -> str:
    """What every notebook depends on besides the package: the lock, the data, the Python."""
    return digest([ROOT / "requirements.txt"]) + data_at_hand() + sys.version


def chapter_key(path: Path) -> str:
    """A hash of all that a notebook's outputs depend on besides itself, which the cache compares."""
    return hashlib.sha256(
        (digest(depends_on(path, ROOT)) + surroundings()).encode()
    ).hexdigest()


def fingerprints(language: str) -> dict[str, str]:
    """Hashes of the packages and what lies around it, of the site's settings, and of the pages in a language."""
    pages = [p for p in (ROOT / "book").iterdir() if p.suffix in {".ipynb", ".md"}]
    settings = [
        ROOT / name
        for name in ("_config.yml", "_toc.yml", "pyproject.toml", "tools", "page")
    ]
    if language != "en":
        pages += (edition.BOOK / language).glob("*.md")
        settings += (edition.BOOK / language).glob("*.yml")  # words of all pages
    settings += [
        ROOT / "book/_static",
        ROOT / "book/_templates",
        ROOT / "book/references.bib",
    ]
    package = [
        file for name in PACKAGES for file in (ROOT / name).rglob("*") if file.is_file()
    ]
    # for the pages; no notebook runs it
    settings += [file for file in package if file.suffix == ".js"]
    code = [file for file in package if file.suffix != ".js"]
    return {
        "code": hashlib.sha256((digest(code) + surroundings()).encode()).hexdigest(),
        # pages of two languages lead to each other
        "settings": f"{','.join(edition.languages())} {digest(settings)}",
        "pages": digest(pages),
    }


def toc_pages() -> list[str]:
    """The path of every page in _toc.yml, without its ending."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    files = [chapter["file"] for part in toc["parts"] for chapter in part["chapters"]]
    return [toc["root"], *files]


def missing_pages() -> list[str]:
    """The pages of the table of contents that have no HTML."""
    return [
        page
        for language in edition.languages()
        for page in ["index", *toc_pages()]
        if not (site(language) / f"{page}.html").is_file()
    ]


def kernel_environment(notebooks: int) -> dict[str, str]:
    """The environment for notebooks: this installation's kernel, a fair share of the cores."""
    misleading = {"JUPYTER_PATH", "MPLBACKEND", "PYTHONPATH"}
    environment = {
        name: value for name, value in os.environ.items() if name not in misleading
    }
    if data := environment.get(
        "VITLIB_DATA"
    ):  # a relative path would not lead there from book/
        environment["VITLIB_DATA"] = str(Path(data).expanduser().absolute())
    threads = max(1, (os.cpu_count() or 1) // max(1, notebooks))
    return environment | {
        "JUPYTER_PREFER_ENV_PATH": "1",
        "JUPYTER_PLATFORM_DIRS": "1",
        "JUPYTER_CONFIG_DIR": str(BUILD / ".jupyter"),
        "IPYTHONDIR": str(BUILD / ".ipython"),
        "PATH": os.pathsep.join(
            [str(Path(sys.executable).parent), environment.get("PATH", "")]
        ),
        "OMP_NUM_THREADS": environment.get("OMP_NUM_THREADS", str(threads)),
    }


def peak_memory() -> str:
    """The most memory that one of this process's ended children held: "0.9 GB", or "" on Windows."""
    try:
        import resource
    except ImportError:
        return ""
    unit = 1 if sys.platform == "darwin" else 1024  # bytes there, kilobytes on Linux
    return (
        f"{resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * unit / 1e9:.1f} GB"
    )


def run_notebook(path: str) -> tuple[float, str, str]:
    """Runs one notebook into the cache; returns its seconds, its memory and its traceback ("" for none)."""
    from jupyter_cache import get_cache
    from jupyter_cache.executors import load_executor

    start = time.perf_counter()
    cache = get_cache(str(CACHE))
    result = load_executor("local-serial", cache).run_and_cache(
        filter_uris=[path], timeout=TIMEOUT
    )
    seconds = time.perf_counter() - start
    if path in result.succeeded:
        return seconds, peak_memory(), ""
    unknown = "the notebook could not be read, or its kernel could not be started"
    return seconds, peak_memory(), cache.get_project_record(path).traceback or unknown


def report_failure(path: Path, traceback: str) -> None:
    """Says which cell of which notebook failed, with its code and its error."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", traceback)
    print(f"\n{'-' * 100}\nFAILED  {path.relative_to(ROOT)}", flush=True)
    # nbclient: message, source, error, name of the error
    parts = re.split(r"^-{10,}\n", plain, flags=re.M)
    code = parts[1].strip() if len(parts) > 2 else ""
    for number, cell in enumerate(
        json.loads(path.read_text(encoding="utf-8"))["cells"], 1
    ):
        if (
            code
            and cell["cell_type"] == "code"
            and "".join(cell["source"]).strip() == code
        ):
            print(f"cell {number}:\n")
    for line in (
        (parts[1:] and "\n".join(parts[1:]) or plain).strip().splitlines()[-60:]
    ):
        print(f"    {line}")


def run_notebooks(asked: list[Path] | None = None) -> bool:
    """Fills the cache with these notebooks, or all, as far as they are not in it; says whether they ran."""
    from jupyter_cache import get_cache

    BUILD.mkdir(exist_ok=True)
    cache = get_cache(str(CACHE))
    every = sorted((ROOT / "book").glob("*.ipynb"))
    paths, wanted = asked or every, {str(path) for path in every}
    for record in cache.list_project_records():
        if record.uri not in wanted:
            cache.remove_nb_from_project(record.pk)
    known = json.loads(KEYS.read_text()) if KEYS.exists() else {}
    keys = {path.name: chapter_key(path) for path in paths}
    for path in paths:
        cache.add_nb_to_project(str(path))
        if keys[path.name] != known.get(path.name):
            for record in cache.list_cache_records():
                if record.uri == str(path):
                    cache.remove_cache(record.pk)
    KEYS.write_text(json.dumps(known | keys, indent=1))
    uris = {str(path) for path in paths}
    todo = [one.uri for one in cache.list_unexecuted() if one.uri in uris]
    if not todo:
        print(f"Notebooks: all {len(paths)} are in the cache.", flush=True)
        return True
    workers = min(os.cpu_count() or 1, len(todo))
    print(
        f"Notebooks: running {len(todo)} of {len(paths)} on {workers} cores ...",
        flush=True,
    )
    # neither pages nor git show bars
    environment = kernel_environment(workers) | {"TQDM_DISABLE": "1"}
    profile = BUILD / ".ipython" / "profile_default"
    profile.mkdir(parents=True, exist_ok=True)
    (profile / "ipython_kernel_config.py").write_text(
        "get_config().IPKernelApp.log_level = 40\n"
    )
    os.environ.clear()
    os.environ.update(environment)
    failures = []
    with ProcessPoolExecutor(
        workers, mp_context=get_context("spawn"), max_tasks_per_child=1
    ) as pool:
        jobs = {pool.submit(run_notebook, path): Path(path) for path in todo}
        for done, job in enumerate(as_completed(jobs), 1):
            path, (seconds, memory, traceback) = jobs[job], job.result()
            verdict = "FAILED" if traceback else "ok"
            print(
                f"  [{done}/{len(todo)}] {path.name:32s} {seconds:6.1f} s  {memory}  {verdict}",
                flush=True,
            )
            if traceback:
                failures.append((path, traceback))
    for path, traceback in failures:
        report_failure(path, traceback)
    return not failures


def build_pages(language: str, everything: bool, shown: bool = True) -> int:
    """Runs Jupyter Book for a language and returns its exit status; what it says is shown at once, or at its end."""
    if language != "en":
        edition.compose(language, source(language), CACHE)
    jupyter_book = shutil.which("jupyter-book", path=str(Path(sys.executable).parent))
    command = [
        jupyter_book,
        "build",
        str(source(language)),
        "-W",
        "--keep-going",
        "-n",
        *["--all"] * everything,
    ]
    environment = os.environ | {"PYTHONWARNINGS": "ignore"}
    said = None if shown else subprocess.PIPE
    process = subprocess.run(
        command,
        cwd=ROOT,
        env=environment,
        stdout=said,
        stderr=said and subprocess.STDOUT,
    )
    if not shown:
        print(process.stdout.decode(errors="replace"), flush=True)
    return process.returncode


def build_languages(changed: dict[str, bool]) -> int:
    """Builds the pages of these languages side by side; the second stands inside the first."""
    with ThreadPoolExecutor(len(changed)) as pool:
        jobs = [
            pool.submit(build_pages, language, everything, shown=not at)
            for at, (language, everything) in enumerate(changed.items())
        ]
        status = max(job.result() for job in jobs)
    if status:
        return status
    # also of languages that are not built: no page leads to what an earlier build left there
    for language in edition.known()[1:]:
        shutil.rmtree(site(language), ignore_errors=True)
        if language in changed:
            shutil.copytree(source(language) / "_build" / "html", site(language))
    return 0


def main() -> int:
    """Builds what changed and returns the exit status."""
    start = time.perf_counter()
    languages = edition.languages()
    found = {language: fingerprints(language) for language in languages}
    last = json.loads(STATE.read_text()) if STATE.exists() else {}
    index = site(languages[0]) / "index.html"
    if found.items() <= last.items() and not missing_pages():
        print(f"Nothing changed. The book is at {index}")
        return 0
    # until this build is done, the last one is not known to be good
    STATE.unlink(missing_ok=True)
    if not run_notebooks():
        print("\nThe book was not built: a notebook failed (see above).")
        return 1
    parts = ("code", "settings")
    changed = {
        language: any(
            found[language][part] != last.get(language, {}).get(part) for part in parts
        )
        for language in languages
    }
    status = build_languages(changed)
    if status or missing_pages():
        gone = ", ".join(missing_pages())
        print(
            f"\nThe book was not built: {f'no page for {gone}' if gone else 'see the warnings above'}."
        )
        return status or 1
    if {language: fingerprints(language) for language in languages} == found:
        STATE.write_text(json.dumps(last | found, indent=1))
    seconds = time.perf_counter() - start
    print(f"\nBuilt {len(toc_pages())} pages in {seconds:.0f} s: open {index}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
