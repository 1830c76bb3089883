"""What the site shows and where it is: the map, the title drawing, the tables of results, the public address."""
