"""How the default sentence encoder is made at set-up: read the weights, write graph and tokenizer, check vectors."""
