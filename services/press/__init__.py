"""A press to read from: invented newsrooms, captured feeds or a generated load, served over HTTP as real publishers do.

Reading order: content.py (what there is), site.py (what a host answers at an instant), feeds.py and pages.py (how it
looks), server.py (HTTP). captured.py, generated.py and hostile.py are the other three kinds of press.
"""
