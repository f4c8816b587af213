// SPDX-License-Identifier: MIT
package dev.stoker;

import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * One's own of S3, for what lies beneath a URL: a daemon of another user reads with them.
 *
 * @param url s3://BUCKET or s3://BUCKET/PREFIX
 * @param key of the access
 * @param secret that belongs to it
 * @param token of a session; empty: there is none
 * @param expires null: never
 */
public record Credentials(String url, String key, String secret, String token, Instant expires) {
  /**
   * Without a session, for ever.
   *
   * @param url s3://BUCKET or s3://BUCKET/PREFIX
   * @param key of the access
   * @param secret that belongs to it
   */
  public Credentials(String url, String key, String secret) {
    this(url, key, secret, "", null);
  }

  /** Names the URL alone. */
  @Override
  public String toString() {
    return "credentials for " + url;
  }

  static void send(Connection connection, List<Credentials> all) {
    if (!all.isEmpty() && !connection.takesCredentials()) {
      throw new StokerException("option", "this stokerd is too old to take credentials: update it");
    }
    for (Credentials one : all) {
      Map<String, Object> fields = new HashMap<>();
      fields.put("url", one.url);
      fields.put("key", one.key);
      fields.put("secret", one.secret);
      fields.put("token", one.token);
      fields.put("expires", one.expires == null ? 0 : Math.max(1, one.expires.getEpochSecond()));
      connection.request("credentials", "ok", fields, Connection.REPLY_NS);
    }
  }
}
