"""From a page to one clean article: extraction, identity, versions, signatures."""
