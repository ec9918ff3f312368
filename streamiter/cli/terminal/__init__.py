"""What goes to a terminal, and how: colours, status lines, endings, words."""
