project = "Runs"
html_favicon = "_static/icon.svg"
html_static_path = ["_static"]
html_js_files = [("oomscope/oom-scope.js", {"type": "module"})]
