"""What the documentation takes from the code: tables of parameters, figures of the papers, sketches."""
