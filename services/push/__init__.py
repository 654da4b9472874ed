"""The receiver of pushes: hubs' questions and deliveries (WebSub), publishers' pings. It faces the internet.

It never fetches and never trusts content: what comes out is a wish to poll, and nothing is answered 2xx before Kafka
has it. Reading order: policy, signatures, links, verification, pings, windows (pure), register, signals, app, server,
service.
"""
