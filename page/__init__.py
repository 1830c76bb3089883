"""The book's Sphinx extension: its public address, pages that need no network, compact signatures.

It brings the others along: `vitmap`, the map of the ViT; `computed` and `claims`, numbers and tables from `vitlib`;
`numbering` and `names`; `mathml`, equations without a script; `icons`; `drawings`, figures in the page's colours;
`cards`, for terms and names in prose; `search`; `access` and `noscript`, for keyboards, screen readers and readers
without scripts; and `typography`, how numbers are set.
"""

from __future__ import annotations

import re

from page.address import pages_url, read_url


def use_public_address(app, config):
    """Shows buttons that lead to the repository and to Colab, once the book has an address."""
    url = read_url()
    options = config.html_theme_options
    if not url:
        for name in ("repository_url", "launch_buttons"):
            options.pop(name, None)
        return
    options["repository_url"] = url
    options["repository_branch"] = "main"
    options["use_repository_button"] = True
    options["use_issues_button"] = True
    options["launch_buttons"] = {
        "notebook_interface": "jupyterlab",
        "colab_url": "https://colab.research.google.com",
    }
    config.html_baseurl = config.ogp_site_url = pages_url(url)
    config.ogp_social_cards = {"enable": False}
    config.ogp_image = f"{pages_url(url)}_static/cover.png"
    config.sitemap_url_scheme = "{link}"


def fetch_by_address(app, docname, source):
    """Says how to fetch the book, once it has an address, in place of "the folder in which you found this"."""
    if url := read_url():
        found = "cd patch-by-patch    # the folder in which you found this"
        source[0] = source[0].replace(found, f"git clone {url} patch-by-patch\ncd patch-by-patch")


def drop_thebe(app, config):
    """Switches sphinx-thebe off: even unused, it writes a script that is an error on every page."""
    for listeners in app.events.listeners.values():
        for listener in [each for each in listeners if each.handler.__module__ == "sphinx_thebe"]:
            app.disconnect(listener.id)


def drop_remote_files(app, pagename, templatename, context, doctree):
    """Drops what would ask another host (a widget's script, say), and the style sheet that thebe left behind."""

    def is_wanted(file):
        name = str(getattr(file, "filename", None) or file)
        return not name.startswith("http") and "sphinx-thebe" not in name

    for kind in ("script_files", "css_files"):
        context[kind] = [file for file in context[kind] if is_wanted(file)]


def shorten_shapes(app, what, name, obj, options, signature, returns):
    """Writes jaxtyping's `Float[Tensor, 'B N D']` as the docstrings do: `Float[B N D]`."""

    def shorten(text):
        text = re.sub(r"~?(?:jaxtyping\.)?(\w+)\[~?(?:torch\.)?Tensor, (['\"])(.*?)\2\]", r"\1[\3]", text)
        packages = r"torch\.nn\.modules\.module|torch\.nn|torch|pathlib|jaxtyping"
        return re.sub(rf"~?\b(?:{packages})\.(?=[A-Z])", "", text)

    return signature and shorten(signature), returns and shorten(returns)


def read_plain_docstring(app, what, name, obj, options, lines):
    """Reads docstrings as the plain text they are, before napoleon turns them into reStructuredText.

    An asterisk is an asterisk, as in `(B, D, *size)`, and text before a colon under `Returns:` is no type, since
    types stand only in signatures.
    """
    for i, line in enumerate(lines):
        parts = re.split(r"(`+[^`]*`+)", line)  # every second part stands between backticks
        parts[::2] = [re.sub(r"(?<!\\)\*(?!\s)", r"\*", part) for part in parts[::2]]
        lines[i] = "".join(parts)
        if i and lines[i - 1].strip() in {"Returns:", "Yields:"} and ":" in line:
            lines[i] = re.sub(r"^(\s*)", r"\1: ", lines[i])


def setup(app):
    """Registers the extension with Sphinx."""
    if read_url():
        app.setup_extension("sphinxext.opengraph")
        app.setup_extension("sphinx_sitemap")
    app.setup_extension("page.vitmap")
    app.setup_extension("page.computed")
    app.setup_extension("page.claims")
    names = "numbering names letters mathml icons drawings cards search opening access noscript typography explorers"
    for name in names.split():
        app.setup_extension(f"page.{name}")
    app.connect("config-inited", use_public_address, priority=0)
    app.connect("config-inited", drop_thebe)
    app.connect("source-read", fetch_by_address)
    app.connect("html-page-context", drop_remote_files, priority=900)
    app.connect("autodoc-process-signature", shorten_shapes)
    app.connect("autodoc-process-docstring", read_plain_docstring, priority=100)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
