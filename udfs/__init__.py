"""What is decided, one package a stage: pure deciders, and one thin operator.py that holds Flink state and timers."""
