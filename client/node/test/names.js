// SPDX-License-Identifier: MIT
/** From the names of the protocol to those of JavaScript. */
import { OPTIONS } from "../lib/tables.js";

export const OPTION_NAMES = Object.fromEntries(
  Object.entries(OPTIONS).map(([name, field]) => [field, name]),
);

export const DATASET_NAMES = {
  path: "path",
  kind: "kind",
  root: "root",
  format: "format",
  path_column: "pathColumn",
  label_column: "labelColumn",
  images: "images",
  labels: "labels",
  split: "split",
  image: "image",
  label: "label",
  classes: "classes",
  components: "components",
  missing_component: "missingComponent",
};
