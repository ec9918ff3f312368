"""Files that a command keeps: tokens, exports, journals."""
