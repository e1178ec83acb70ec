//===- sluice-train.cpp - runs a plan on data ---------------------------------------===//
#include "tools/train/Train.h"

int main(int argc, char **argv) { return sluice::trainMain(argc, argv); }
