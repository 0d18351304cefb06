"""The laws of mechanics, for any mechanism: algebra, equations of motion, contact, spatial vectors."""
