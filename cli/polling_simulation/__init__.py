"""Simulated publishers, the production's poll decisions in virtual time over them, and other schedules beside these.

Reading order: world.py (what is assumed of feeds, with sources), publishers.py (items and answers of one feed),
engine.py (the deciders of udfs/poll in virtual time), schedules.py (fixed intervals and the rules of other readers),
figures.py (delays, shares, spread), run.py (processes).
"""
