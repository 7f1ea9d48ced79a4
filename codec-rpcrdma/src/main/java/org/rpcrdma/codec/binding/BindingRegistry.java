// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.binding;

import io.netty.util.collection.IntObjectHashMap;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.ServiceLoader;
import java.util.stream.Collectors;

/** Finds the binding of a program and version. Immutable; a look-up allocates nothing. */
public final class BindingRegistry {

    private final IntObjectHashMap<UpperLayerBinding[]> byProgram = new IntObjectHashMap<>();
    private final List<UpperLayerBinding> bindings;

    private BindingRegistry(List<? extends UpperLayerBinding> bindings) {
        this.bindings = List.copyOf(bindings);
        for (UpperLayerBinding binding : this.bindings) {
            UpperLayerBinding[] before = byProgram.get(binding.program());
            int count = before == null ? 0 : before.length;
            UpperLayerBinding[] after =
                    before == null ? new UpperLayerBinding[1] : Arrays.copyOf(before, count + 1);
            after[count] = binding;
            byProgram.put(binding.program(), after);
        }
    }

    /**
     * {@return the bindings of {@link ServiceLoader}, then the built-in ones for programs and versions that are left}
     */
    public static BindingRegistry standard() {
        List<UpperLayerBinding> bindings = new ArrayList<>();
        ServiceLoader.load(UpperLayerBinding.class).forEach(bindings::add);
        bindings.add(new Nfs2Binding());
        bindings.add(new Nfs3Binding());
        bindings.add(new Nfs4Binding());
        bindings.add(new Nfs4CallbackBinding());
        bindings.add(new NfsAclBinding());
        bindings.add(new MountBinding());
        bindings.add(new NlmBinding());
        return new BindingRegistry(bindings);
    }

    /**
     * These bindings and no others; of two for the same program and version the first is taken.
     *
     * @param bindings in the order in which they are asked for; copied
     * @return a registry of them
     */
    public static BindingRegistry of(List<? extends UpperLayerBinding> bindings) {
        return new BindingRegistry(bindings);
    }

    /**
     * These bindings, then the ones of this registry for programs and versions that are left: for a program number that
     * is known only at run time, or in the place of a binding that is built in.
     *
     * @param first in the order in which they are asked for
     * @return a new registry; this one is left alone
     */
    public BindingRegistry with(UpperLayerBinding... first) {
        List<UpperLayerBinding> all = new ArrayList<>(Arrays.asList(first));
        all.addAll(bindings);
        return new BindingRegistry(all);
    }

    /**
     * Looks up a binding; {@link NoEligibleItemsBinding} if there is none.
     *
     * @param program unsigned
     * @param version unsigned
     * @return the binding, never {@code null}
     */
    public UpperLayerBinding find(int program, int version) {
        UpperLayerBinding[] candidates = byProgram.get(program);
        if (candidates != null) {
            for (UpperLayerBinding candidate : candidates) {
                if (candidate.covers(version)) {
                    return candidate;
                }
            }
        }
        return NoEligibleItemsBinding.INSTANCE;
    }

    /** The bindings in the order in which they are asked for. */
    @Override
    public String toString() {
        return bindings.stream()
                .map(
                        binding ->
                                binding.getClass().getSimpleName()
                                        + ' '
                                        + Integer.toUnsignedString(binding.program()))
                .collect(Collectors.joining(", ", "BindingRegistry(", ")"));
    }
}
