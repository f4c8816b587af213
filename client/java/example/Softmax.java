// SPDX-License-Identifier: MIT
import dev.stoker.Batch;
import dev.stoker.Call;
import dev.stoker.Client;
import dev.stoker.Dataset;
import dev.stoker.Options;
import dev.stoker.Reader;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.List;

/**
 * Trains a softmax classifier on small pictures by stochastic gradient descent, with plain loops.
 * Arguments: a folder with one subfolder per class, and the number of epochs.
 */
class Softmax {
  private static final int EDGE = 16;
  private static final int INPUTS = 3 * EDGE * EDGE;
  private static final float RATE = 0.005f;

  private final float[][] weights; // of each class: one for each input, and one for the bias

  Softmax(int classes) {
    weights = new float[classes][INPUTS + 1];
  }

  /** One step for the sample whose pixels begin there; its loss. */
  private double learn(MemorySegment images, long at, int label) {
    double[] scores = new double[weights.length];
    double sum = 0;
    for (int k = 0; k < scores.length; k++) {
      float score = weights[k][INPUTS];
      for (int i = 0; i < INPUTS; i++) {
        score += weights[k][i] * images.getAtIndex(ValueLayout.JAVA_FLOAT, at + i);
      }
      scores[k] = Math.exp(score);
      sum += scores[k];
    }
    for (int k = 0; k < scores.length; k++) {
      float wrong = (float) (scores[k] / sum) - (k == label ? 1 : 0);
      for (int i = 0; i < INPUTS; i++) {
        weights[k][i] -= RATE * wrong * images.getAtIndex(ValueLayout.JAVA_FLOAT, at + i);
      }
      weights[k][INPUTS] -= RATE * wrong;
    }
    return -Math.log(scores[label] / sum);
  }

  /** The sum of the losses. */
  private double learn(Batch batch) {
    MemorySegment images = batch.segment("image");
    MemorySegment labels = batch.segment("label");
    double loss = 0;
    for (int i = 0; i < batch.count(); i++) {
      int label = (int) labels.getAtIndex(ValueLayout.JAVA_LONG, i);
      loss += learn(images, (long) i * INPUTS, label);
    }
    return loss;
  }

  public static void main(String[] arguments) {
    Options options =
        new Options(Dataset.of(Path.of(arguments[0])), 8)
            .transforms(
                List.of(
                    Call.of("Resize").with("size", List.of(EDGE, EDGE)),
                    Call.of("RandomHorizontalFlip")))
            .epochs(Integer.parseInt(arguments[1]));
    try (Reader reader = new Client().attach(options)) {
      Softmax model = new Softmax(reader.classes().size());
      double loss = 0;
      for (Batch batch : reader) {
        loss += model.learn(batch);
        if (batch.next().position() == 0 || batch.next().epoch() > batch.epoch()) {
          System.out.println("epoch " + batch.epoch() + ": loss " + loss / reader.samples());
          loss = 0;
        }
      }
    }
  }
}
