// SPDX-License-Identifier: MIT
package dev.stoker;

import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.ClosedSelectorException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import jdk.net.ExtendedSocketOptions;

/** A socket as Java has them: without descriptors. */
final class ChannelWire implements Wire {
  private final SocketChannel socket;
  private final Selector selector;
  private final String peer;

  ChannelWire(Path path) throws IOException {
    socket = SocketChannel.open(StandardProtocolFamily.UNIX);
    try {
      socket.connect(UnixDomainSocketAddress.of(path));
      peer = socket.getOption(ExtendedSocketOptions.SO_PEERCRED).user().getName();
      socket.configureBlocking(false);
      selector = Selector.open();
      socket.register(selector, SelectionKey.OP_READ);
    } catch (IOException e) {
      socket.close();
      throw e;
    }
  }

  @Override
  public int read(ByteBuffer data) throws IOException {
    return socket.read(data);
  }

  @Override
  public void write(ByteBuffer frame, int[] descriptors) throws IOException {
    while (frame.hasRemaining() && socket.isOpen()) {
      if (socket.write(frame) == 0) Thread.onSpinWait();
    }
  }

  @Override
  public void await(long ms) throws IOException {
    try {
      selector.select(ms);
      selector.selectedKeys().clear();
    } catch (ClosedSelectorException e) {
      throw new ClosedChannelException(); // by another thread
    }
  }

  @Override
  public boolean passesDescriptors() {
    return false;
  }

  @Override
  public int takeDescriptor() {
    return -1;
  }

  @Override
  public String peer() {
    return peer;
  }

  @Override
  public boolean isOpen() {
    return socket.isOpen();
  }

  @Override
  public void close() {
    try {
      selector.close();
      socket.close();
    } catch (IOException e) {
      // It is gone all the same.
    }
  }
}
