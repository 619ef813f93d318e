"""What every other part may stand on: identifiers, quantities, the clock, settings, the root of all errors."""
