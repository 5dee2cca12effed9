"""What ties computation to the book; used by pages, never by the floors."""
