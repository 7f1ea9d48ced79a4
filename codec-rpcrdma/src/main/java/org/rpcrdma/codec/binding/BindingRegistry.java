// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.binding;

import io.netty.util.collection.IntObjectHashMap;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.ServiceLoader;

/** Finds the binding of a program and version. Immutable; a look-up allocates nothing. */
public final class BindingRegistry {

    private final IntObjectHashMap<UpperLayerBinding[]> byProgram = new IntObjectHashMap<>();

    private BindingRegistry(List<? extends UpperLayerBinding> bindings) {
        for (UpperLayerBinding binding : bindings) {
            Objects.requireNonNull(binding, "binding");
            UpperLayerBinding[] before = byProgram.get(binding.program());
            int count = before == null ? 0 : before.length;
            UpperLayerBinding[] after =
                    before == null ? new UpperLayerBinding[1] : Arrays.copyOf(before, count + 1);
            after[count] = binding;
            byProgram.put(binding.program(), after);
        }
    }

    /** The bindings of {@link ServiceLoader}, then the built-in ones for programs and versions that are left. */
    public static BindingRegistry standard() {
        List<UpperLayerBinding> bindings = new ArrayList<>();
        ServiceLoader.load(UpperLayerBinding.class).forEach(bindings::add);
        bindings.add(new Nfs3Binding());
        bindings.add(new NfsAclBinding());
        bindings.add(new MountBinding());
        return new BindingRegistry(bindings);
    }

    /** These bindings and no others; of two for the same program and version the first is taken. */
    public static BindingRegistry of(List<? extends UpperLayerBinding> bindings) {
        return new BindingRegistry(bindings);
    }

    /** Never {@code null}: {@link GenericBinding} stands for what has no binding. */
    public UpperLayerBinding find(int program, int version) {
        UpperLayerBinding[] candidates = byProgram.get(program);
        if (candidates != null) {
            for (UpperLayerBinding candidate : candidates) {
                if (candidate.covers(version)) {
                    return candidate;
                }
            }
        }
        return GenericBinding.INSTANCE;
    }
}
