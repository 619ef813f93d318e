"""Gangs and plain pods made at the same instant on too little room: gangs start whole or wait whole, no GPU idles."""
