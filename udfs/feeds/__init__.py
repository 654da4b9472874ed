"""From a feed document's bytes to its entries."""
