// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.channel;

import io.netty.channel.ChannelOption;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.BiConsumer;
import java.util.function.Function;

/**
 * Options of one kind of channel configuration, with their getters and setters.
 *
 * @param <C> the configuration
 */
final class ChannelOptionTable<C> {

    private record Access<C, T>(Function<C, T> getter, BiConsumer<C, T> setter) {}

    private final Map<ChannelOption<?>, Access<C, ?>> options = new LinkedHashMap<>();

    /** Adds an option; returns this table. */
    <T> ChannelOptionTable<C> with(
            ChannelOption<T> option, Function<C, T> getter, BiConsumer<C, T> setter) {
        options.put(option, new Access<>(getter, setter));
        return this;
    }

    ChannelOption<?>[] options() {
        return options.keySet().toArray(new ChannelOption<?>[0]);
    }

    boolean contains(ChannelOption<?> option) {
        return options.containsKey(option);
    }

    /** The value of an option that is in this table. */
    <T> T get(C config, ChannelOption<T> option) {
        return this.<T>access(option).getter.apply(config);
    }

    /** Sets an option that is in this table. */
    <T> void set(C config, ChannelOption<T> option, T value) {
        this.<T>access(option).setter.accept(config, value);
    }

    @SuppressWarnings("unchecked") // with() adds both with the type of the option
    private <T> Access<C, T> access(ChannelOption<T> option) {
        return (Access<C, T>) options.get(option);
    }
}
