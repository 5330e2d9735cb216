"""What a wrong gradient shows beside the right one, whatever rule made it."""
