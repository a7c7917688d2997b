"""Markdown in, HTML out."""

import markdown
from flask import request

PAGE = """<!doctype html>
<html><head><meta charset="utf-8"><title>{title}</title></head>
<body>
{body}
</body></html>
"""


def main():
    text = request.get_data(as_text=True)
    if not text.strip():
        return "send some markdown\n", 400
    first = text.strip().splitlines()[0].lstrip("# ")
    body = markdown.markdown(text, extensions=["tables", "fenced_code"])
    title = first.replace("&", "&amp;").replace("<", "&lt;")
    return PAGE.format(title=title, body=body), 200, {"Content-Type": "text/html; charset=utf-8"}
