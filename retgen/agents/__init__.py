"""Typed tasks for chat models: prompts, requests, and the ledger of what was asked and answered."""
