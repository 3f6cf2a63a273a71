"""The site of the documentation: what mkdocs needs beside ``mkdocs.yml``, and its picture."""
