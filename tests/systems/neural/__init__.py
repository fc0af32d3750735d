"""Tests of systems with pretrained models."""
