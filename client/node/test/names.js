// SPDX-License-Identifier: MIT
/** From the names of the protocol to those of JavaScript. */
import { DATASET, OPTIONS } from "../lib/tables.js";

export const OPTION_NAMES = Object.fromEntries(
  Object.entries(OPTIONS).map(([name, field]) => [field, name]),
);

export const DATASET_NAMES = Object.fromEntries(
  Object.entries(DATASET).map(([name, key]) => [key, name]),
);
