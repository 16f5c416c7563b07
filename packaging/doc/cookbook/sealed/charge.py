#!/usr/bin/env python3
"""Charges a card, of which nobody may read the number on its way."""
import json
import sys

job = json.load(sys.stdin)
order, card = job["args"]               # in clear here, and nowhere before
print(f"order {order}: charged the card that ends in {card['number'][-4:]}")
