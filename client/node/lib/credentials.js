// SPDX-License-Identifier: MIT
/** Credentials of one's own, which go over each connection. */

import { connect } from "./connection.js";
import { OptionError } from "./errors.js";

/** A connection over which they were sent. */
export async function connectWith({ socket, credentials = [] }, warn, until) {
  const connection = await connect(socket, warn, until);
  try {
    await sendCredentials(connection, credentials);
  } catch (error) {
    connection.close();
    throw error;
  }
  return connection;
}

export async function sendCredentials(connection, credentials) {
  if (credentials.length && !connection.takesCredentials) {
    throw new OptionError("this stokerd is too old to take credentials: update it");
  }
  for (const { url, key, secret, token, expires } of credentials) {
    const seconds = expires === undefined ? 0 : Math.floor(expires.getTime() / 1000);
    try {
      await connection.request("credentials", "ok", { url, key, secret, token, expires: seconds });
    } catch (error) {
      if (error instanceof RangeError || error instanceof TypeError) {
        throw new OptionError(`credentials: ${error.message}`);
      }
      throw error;
    }
  }
}
