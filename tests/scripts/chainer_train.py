# SPDX-License-Identifier: MIT
"""Chainer's way to train: a folder of images with one subfolder per class, a validation at the end
of each epoch, and a snapshot from which --resume goes on.

    chainer_train.py /data/train [--epoch 20] [--out result] [--resume result/snapshot_epoch_7]

Only the two iterators are not Chainer's; what they replace stands above them.
"""
import argparse

import chainer
import chainer.functions as F
import chainer.links as L
from chainer import training
from chainer.training import extensions

import stoker
import stoker.chainer

parser = argparse.ArgumentParser()
parser.add_argument("folder")
parser.add_argument("--batchsize", type=int, default=8)
parser.add_argument("--epoch", type=int, default=2)
parser.add_argument("--out", default="result")
parser.add_argument("--resume", default="")
parser.add_argument("--device", default="-1")
args = parser.parse_args()


class Net(chainer.Chain):
    def __init__(self, classes):
        super().__init__()
        with self.init_scope():
            self.conv1 = L.Convolution2D(None, 16, 3, pad=1)
            self.norm1 = L.BatchNormalization(16)
            self.conv2 = L.Convolution2D(None, 32, 3, pad=1)
            self.norm2 = L.BatchNormalization(32)
            self.out = L.Linear(None, classes)

    def forward(self, x):
        h = F.max_pooling_2d(F.relu(self.norm1(self.conv1(x))), 2)
        h = F.relu(self.norm2(self.conv2(h)))
        return self.out(F.average(h, axis=(2, 3)))


mean_std = ([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])

# train, val = split_dataset(LabeledImageDataset("list.txt", folder), ...)
# train_iter = MultiprocessIterator(TransformDataset(train, crop_and_flip), args.batchsize)
train_iter = stoker.chainer.Iterator(
    args.folder, args.batchsize, validation_split=0.2, subset="training",
    transforms=[stoker.RandomResizedCrop(32), stoker.RandomHorizontalFlip(),
                stoker.Normalize(*mean_std)])
# val_iter = MultiprocessIterator(TransformDataset(val, center_crop), args.batchsize,
#                                 repeat=False, shuffle=False)
val_iter = stoker.chainer.Iterator(
    args.folder, args.batchsize, repeat=False, shuffle=False,
    validation_split=0.2, subset="validation",
    transforms=[stoker.Resize((32, 32)), stoker.Normalize(*mean_std)])

device = chainer.get_device(int(args.device))
model = L.Classifier(Net(len(train_iter.loader.classes)))
model.to_device(device)
optimizer = chainer.optimizers.MomentumSGD(0.01).setup(model)

updater = training.updaters.StandardUpdater(train_iter, optimizer, device=device)
trainer = training.Trainer(updater, (args.epoch, "epoch"), out=args.out)
trainer.extend(extensions.Evaluator(val_iter, model, device=device))
trainer.extend(extensions.snapshot(filename="snapshot_epoch_{.updater.epoch}"))
trainer.extend(extensions.LogReport())
trainer.extend(extensions.PrintReport(
    ["epoch", "iteration", "main/loss", "main/accuracy", "validation/main/accuracy"]))
if args.resume:
    chainer.serializers.load_npz(args.resume, trainer)
trainer.run()
