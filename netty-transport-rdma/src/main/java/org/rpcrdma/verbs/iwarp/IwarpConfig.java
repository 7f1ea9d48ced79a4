// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.verbs.iwarp;

import io.netty.util.internal.SystemPropertyUtil;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import org.rpcrdma.verbs.iwarp.mpa.CrcPolicy;
import org.rpcrdma.verbs.iwarp.mpa.FpduLayout;
import org.rpcrdma.verbs.iwarp.mpa.MpaStartupFrame;
import org.rpcrdma.verbs.iwarp.mpa.MpaStartupSettings;
import org.rpcrdma.verbs.iwarp.mpa.Rtr;
import org.rpcrdma.verbs.iwarp.shared.SharedRingFileFactory;

/** The settings of the software RNIC. {@link #defaults()} suits the Linux kernel's soft-iWARP. Immutable. */
public final class IwarpConfig {

    private static final IwarpConfig DEFAULTS = builder().build();

    /** Private copy of the builder. */
    private final Builder settings;

    private final MpaStartupSettings mpa;

    private IwarpConfig(Builder builder) {
        settings = builder.copy();
        mpa =
                new MpaStartupSettings(
                        settings.mpaRevision,
                        settings.crc,
                        settings.markers,
                        settings.peerToPeer ? settings.readyToReceive : Set.of(),
                        settings.maxPrivateData);
    }

    /** {@return the defaults: CRC obeyed but not asked for, peer-to-peer model, 5 s and 10 s start-up time-outs} */
    public static IwarpConfig defaults() {
        return DEFAULTS;
    }

    /** {@return a builder that starts with the defaults} */
    public static Builder builder() {
        return new Builder();
    }

    /** {@return a builder that starts with these settings} */
    public Builder toBuilder() {
        return settings.copy();
    }

    /** {@return the MPA revision that a connecting end uses} */
    public int mpaRevision() {
        return settings.mpaRevision;
    }

    /** {@return when the CRC is used} */
    public CrcPolicy crc() {
        return settings.crc;
    }

    /** {@return whether peers are asked for markers} */
    public boolean markers() {
        return settings.markers;
    }

    /** Options of the start-up frames. */
    MpaStartupSettings mpa() {
        return mpa;
    }

    /** {@return the largest ULPDU to send in bytes; 0 to derive it from the MTU} */
    public int maxUlpdu() {
        return settings.maxUlpdu;
    }

    /** {@return whether a connecting end offers the peer-to-peer model} */
    public boolean peerToPeer() {
        return settings.peerToPeer;
    }

    /** {@return the ready-to-receive messages that a connecting end offers} */
    public Set<Rtr> readyToReceive() {
        return settings.readyToReceive;
    }

    /** {@return the most private data to send in a start-up frame, in bytes} */
    public int maxPrivateData() {
        return settings.maxPrivateData;
    }

    /** {@return how long an accepted TCP connection may take for its MPA Request} */
    public Duration responderTimeout() {
        return settings.responderTimeout;
    }

    /** {@return how long a peer may take for the TCP connection, and then for its MPA Reply} */
    public Duration initiatorTimeout() {
        return settings.initiatorTimeout;
    }

    /** {@return the time that an ended connection may take to send its last bytes and to see the peer's end} */
    public Duration drainTimeout() {
        return settings.drainTimeout;
    }

    /** Time that the first message may stay unanswered; zero for any time. */
    Duration wakeAfter() {
        return settings.wakeAfter;
    }

    /** {@return how long a peer may leave an FPDU incomplete without a byte; zero for any time} */
    public Duration frameTimeout() {
        return settings.frameTimeout;
    }

    /** {@return how long a peer may leave a Send incomplete without a byte of it; zero for any time} */
    public Duration messageTimeout() {
        return settings.messageTimeout;
    }

    /** {@return the most accepted TCP connections of a listener that have not sent their MPA Request} */
    public int maxHalfOpen() {
        return settings.maxHalfOpen;
    }

    /** {@return the most ranges exposed at a time in one context} */
    public int maxExposures() {
        return settings.maxExposures;
    }

    /** {@return bytes of the TCP send and receive buffers; 0 for the default of the operating system} */
    public int socketBuffer() {
        return settings.socketBuffer;
    }

    /** {@return whether shared memory takes the place of TCP where both ends want it} */
    public boolean sharedMemory() {
        return settings.sharedMemory;
    }

    /** {@return bytes of shared memory for each direction of a connection} */
    public int sharedRingBytes() {
        return settings.sharedRingBytes;
    }

    /** Where the files of shared memory are; {@code null} for the usual place. */
    Path sharedDirectory() {
        return settings.sharedDirectory;
    }

    @Override
    public String toString() {
        return "IwarpConfig(MPA revision "
                + settings.mpaRevision
                + ", CRC "
                + settings.crc
                + (settings.markers ? ", settings.markers" : "")
                + (settings.peerToPeer
                        ? ", peer-to-peer " + new TreeSet<>(settings.readyToReceive)
                        : "")
                + (settings.sharedMemory
                        ? ", shared memory of " + settings.sharedRingBytes + " bytes"
                        : "")
                + ", start-up within "
                + settings.initiatorTimeout
                + " and "
                + settings.responderTimeout
                + ", drains for "
                + settings.drainTimeout
                + ')';
    }

    /** Collects settings. Each setter refuses a value out of range with an {@link IllegalArgumentException}. */
    public static final class Builder implements Cloneable {

        private int mpaRevision = 2;
        private CrcPolicy crc = CrcPolicy.ACCEPT;
        private boolean markers;
        private int maxUlpdu;
        private boolean peerToPeer = true;
        private Set<Rtr> readyToReceive = Set.of(Rtr.ZERO_LENGTH_WRITE, Rtr.ZERO_LENGTH_READ);
        private int maxPrivateData = MpaStartupFrame.SAFE_PRIVATE_DATA;
        private Duration responderTimeout = Duration.ofSeconds(5);
        private Duration initiatorTimeout = Duration.ofSeconds(10);
        private Duration drainTimeout = Duration.ofSeconds(2);
        private Duration wakeAfter = Duration.ofSeconds(1);
        private Duration frameTimeout = Duration.ofSeconds(30);
        private Duration messageTimeout = Duration.ofSeconds(30);
        private int maxHalfOpen = 128;
        private int maxExposures = 1 << 20;
        private int socketBuffer;
        private boolean sharedMemory =
                SystemPropertyUtil.getBoolean("org.rpcrdma.iwarp.sharedMemory", false);
        private int sharedRingBytes = 512 * 1024;
        private Path sharedDirectory;

        private Builder() {}

        private Builder copy() {
            try {
                return (Builder) clone();
            } catch (CloneNotSupportedException e) {
                throw new AssertionError(e);
            }
        }

        /**
         * The MPA revision that a connecting end uses, 1 or 2; 2 by default. Revision 1 (RFC 5044) is for peers that do
         * not know RFC 6581: it negotiates no read depths, so that one Read at a time may be outstanding, and has no
         * peer-to-peer model. An accepting end answers in the revision of the Request.
         *
         * @param revision 1 or 2
         * @return this builder
         */
        public Builder mpaRevision(int revision) {
            mpaRevision = SettingChecks.range("mpaRevision", revision, 1, 2);
            return this;
        }

        /**
         * When the CRC of RFC 5044, 4.4 is used; {@link CrcPolicy#ACCEPT} by default.
         *
         * @param policy when
         * @return this builder
         */
        public Builder crc(CrcPolicy policy) {
            crc = Objects.requireNonNull(policy, "crc");
            return this;
        }

        /**
         * Whether to ask peers for markers (RFC 5044, 4.3). Off by default: they serve hardware that looks for FPDUs in
         * TCP segments out of order, and cost a copy here; soft-iWARP rejects peers that request them. A peer that asks
         * gets them always.
         *
         * @param asked {@code true} to ask for them
         * @return this builder
         */
        public Builder markers(boolean asked) {
            markers = asked;
            return this;
        }

        /**
         * The largest ULPDU to send in bytes, 128 to 64768. 0, the default, takes it from the MTU of the local
         * interface, so that an FPDU fits one TCP segment (RFC 5044, 5.1), which hardware peers may need.
         *
         * @param bytes 128 to 64768, or 0
         * @return this builder
         */
        public Builder maxUlpdu(int bytes) {
            if (bytes != 0) {
                SettingChecks.range("maxUlpdu", bytes, FpduLayout.MIN_MULPDU, FpduLayout.MAX_ULPDU);
            }
            maxUlpdu = bytes;
            return this;
        }

        /**
         * Whether a connecting end offers the peer-to-peer model of RFC 6581, so that the accepting end may speak
         * first; Intel hardware needs it. On by default.
         *
         * @param offered {@code true} to offer it
         * @return this builder
         */
        public Builder peerToPeer(boolean offered) {
            peerToPeer = offered;
            return this;
        }

        /**
         * The ready-to-receive messages that a connecting end offers in the peer-to-peer model; a zero-length Write and
         * a zero-length Read by default. The peer chooses. An accepting end takes each of them.
         *
         * @param messages at least one
         * @return this builder
         */
        public Builder readyToReceive(Set<Rtr> messages) {
            if (messages.isEmpty()) {
                throw new IllegalArgumentException(
                        "readyToReceive is empty, expected at least one message; for none use"
                                + " peerToPeer(false)");
            }
            readyToReceive = Set.copyOf(messages);
            return this;
        }

        /**
         * The most private data to send in a start-up frame in bytes, 0 to 512. Of revision 2 at most 508 can be used.
         * The default of 251 is safe: soft-iWARP of Linux 6.1 as initiator crashes its kernel when a Reply has more
         * than 252, and Chelsio hardware takes up to 255 in all.
         *
         * @param bytes 0 to 512
         * @return this builder
         */
        public Builder maxPrivateData(int bytes) {
            int most = MpaStartupFrame.MAX_PRIVATE_DATA;
            maxPrivateData = SettingChecks.range("maxPrivateData", bytes, 0, most);
            return this;
        }

        /**
         * How long an accepted TCP connection may take for its MPA Request; 5 s by default, at most a day.
         *
         * @param time more than zero, up to a day
         * @return this builder
         */
        public Builder responderTimeout(Duration time) {
            responderTimeout = SettingChecks.positive("responderTimeout", time);
            return this;
        }

        /**
         * How long a peer may take for the TCP connection, and then for its MPA Reply; 10 s by default, at most a day.
         *
         * @param time more than zero, up to a day
         * @return this builder
         */
        public Builder initiatorTimeout(Duration time) {
            initiatorTimeout = SettingChecks.positive("initiatorTimeout", time);
            return this;
        }

        /**
         * Time that an ended connection may take to send its last bytes and to see the peer's end; 2 s by default, at
         * most a day.
         *
         * @param time more than zero, up to a day
         * @return this builder
         */
        public Builder drainTimeout(Duration time) {
            drainTimeout = SettingChecks.positive("drainTimeout", time);
            return this;
        }

        /** When {@link ZeroLengthWritePeerWakeup} begins, for tests; from zero, for never, to a day. */
        Builder wakeAfter(Duration time) {
            wakeAfter = time.isZero() ? time : SettingChecks.positive("wakeAfter", time);
            return this;
        }

        /**
         * How long a peer that has sent a part of an FPDU may send no further byte before its connection ends, up to a
         * quarter more; 30 s by default, at most a day, zero for any time. What is there of the FPDU keeps memory
         * that others may need. Longer where the network may be interrupted for longer than that.
         *
         * @param time from zero to a day
         * @return this builder
         */
        public Builder frameTimeout(Duration time) {
            frameTimeout = time.isZero() ? time : SettingChecks.positive("frameTimeout", time);
            return this;
        }

        /**
         * How long a peer that has sent some segments of a Send, or bytes of a stream that it has not announced, may
         * send no further byte before its connection ends, up to a quarter more; 30 s by default, at most a day, zero
         * for any time. What is there keeps memory. Where messages wait for memory here, that time does not count.
         *
         * @param time from zero to a day
         * @return this builder
         */
        public Builder messageTimeout(Duration time) {
            messageTimeout = time.isZero() ? time : SettingChecks.positive("messageTimeout", time);
            return this;
        }

        /**
         * The most accepted TCP connections per listener that have not sent their MPA Request, 1 to 65536; 128 by
         * default. Further ones wait in TCP's backlog until one of these is through, or its {@link #responderTimeout}
         * is over. The backlog of the listener bounds these and the requests that wait for an answer together.
         *
         * @param connections 1 to 65536
         * @return this builder
         */
        public Builder maxHalfOpen(int connections) {
            maxHalfOpen = SettingChecks.range("maxHalfOpen", connections, 1, 1 << 16);
            return this;
        }

        /**
         * The most ranges exposed at a time in one context, 1 to 2^23; 2^20 by default.
         *
         * @param ranges 1 to 2^23
         * @return this builder
         */
        public Builder maxExposures(int ranges) {
            maxExposures = SettingChecks.range("maxExposures", ranges, 1, 1 << 23);
            return this;
        }

        /**
         * Bytes of the TCP send and receive buffers; 0, the default, leaves them to the operating system.
         *
         * @param bytes from 0
         * @return this builder
         */
        public Builder socketBuffer(int bytes) {
            socketBuffer = SettingChecks.range("socketBuffer", bytes, 0, Integer.MAX_VALUE);
            return this;
        }

        /**
         * Whether connections between two processes of one user on one machine move their data through memory that both
         * have mapped, where both ends say so; off by default ({@code -Dorg.rpcrdma.iwarp.sharedMemory}). The TCP
         * connection stays, as the set-up and the sign of life. There are no CRC and no markers then, and a capture of
         * the network shows the start-up only. Whatever is in the way, TCP is used as if this were off. What an
         * initiator announces takes 76 bytes of private data behind those of the user: a foreign responder on this
         * machine sees them.
         *
         * @param wanted {@code true} to use it
         * @return this builder
         */
        public Builder sharedMemory(boolean wanted) {
            sharedMemory = wanted;
            return this;
        }

        /**
         * Bytes of shared memory for each direction of a connection that this end begins, a power of two from 4 KiB to
         * 16 MiB; 512 KiB by default. A connection takes all of it, twice, when it is made: choose less for many
         * connections, or give the machine's shared memory more room. Where it has none, TCP is used.
         *
         * @param bytes a power of two, 4096 to 2^24
         * @return this builder
         */
        public Builder sharedRingBytes(int bytes) {
            SettingChecks.range(
                    "sharedRingBytes",
                    bytes,
                    SharedRingFileFactory.MIN_RING_BYTES,
                    SharedRingFileFactory.MAX_RING_BYTES);
            SettingChecks.requirePowerOfTwo("sharedRingBytes", bytes);
            sharedRingBytes = bytes;
            return this;
        }

        Builder sharedDirectory(Path directory) {
            sharedDirectory = directory;
            return this;
        }

        /** {@return settings that never change} */
        public IwarpConfig build() {
            return new IwarpConfig(this);
        }
    }
}
