"""The fetch tier: asks publishers' servers, politely and within bounds, and answers every request once it is known.

Reading order: policy, gate and robots and offsets (pure), hosts, visit, fetching, answers, confidence, intake, service.
"""
