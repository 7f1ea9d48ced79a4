// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.benchmarks.path;

import net.bytebuddy.jar.asm.ClassReader;
import net.bytebuddy.jar.asm.ClassVisitor;
import net.bytebuddy.jar.asm.ClassWriter;
import net.bytebuddy.jar.asm.Handle;
import net.bytebuddy.jar.asm.MethodVisitor;
import net.bytebuddy.jar.asm.Opcodes;
import net.bytebuddy.jar.asm.Type;
import net.bytebuddy.utility.OpenedClassReader;
import org.rpcrdma.benchmarks.path.PathCounters.Site;

/** Has each method of a class tell {@link PathCounters} that it is entered and what it allocates. */
final class PathInstrumentation extends ClassVisitor {

    private static final String COUNTERS = Type.getInternalName(PathCounters.class);
    private static final String BYTE_BUFFER = "java/nio/ByteBuffer";

    /** The type of a site that allocates arrays and counts bytes. */
    static final String ARRAY = "[]";

    /** The type of a site that makes a view of a {@code ByteBuffer}. */
    static final String VIEW = "java.nio.DirectByteBuffer";

    /** Begins the type of a site that makes a lambda; the number of captured values follows. */
    static final String LAMBDA = "lambda/";

    private String className;

    private PathInstrumentation(ClassVisitor next) {
        super(OpenedClassReader.ASM_API, next);
    }

    static byte[] instrument(byte[] bytes) {
        ClassReader reader = OpenedClassReader.of(bytes);
        ClassWriter writer = new ClassWriter(reader, ClassWriter.COMPUTE_MAXS);
        reader.accept(new PathInstrumentation(writer), 0);
        return writer.toByteArray();
    }

    @Override
    public void visit(
            int version, int access, String name, String sign, String parent, String[] types) {
        className = name.replace('/', '.');
        super.visit(version, access, name, sign, parent, types);
    }

    @Override
    public MethodVisitor visitMethod(
            int access, String name, String descriptor, String sign, String[] exceptions) {
        MethodVisitor next = super.visitMethod(access, name, descriptor, sign, exceptions);
        boolean hasCode = (access & (Opcodes.ACC_ABSTRACT | Opcodes.ACC_NATIVE)) == 0;
        return hasCode ? new Body(next, name + descriptor) : next;
    }

    private final class Body extends MethodVisitor {

        private final String method;

        Body(MethodVisitor next, String method) {
            super(OpenedClassReader.ASM_API, next);
            this.method = method;
        }

        private void push(String type) {
            super.visitLdcInsn(PathCounters.number(new Site(className, method, type)));
        }

        private void pass(String type) {
            push(type);
            super.visitMethodInsn(Opcodes.INVOKESTATIC, COUNTERS, "pass", "(I)V", false);
        }

        /** The length is on the stack, and stays there. */
        private void passArray(int shift) {
            super.visitInsn(Opcodes.DUP);
            push(ARRAY);
            super.visitLdcInsn(shift);
            super.visitMethodInsn(Opcodes.INVOKESTATIC, COUNTERS, "passArray", "(III)V", false);
        }

        @Override
        public void visitCode() {
            super.visitCode();
            pass(null);
        }

        @Override
        public void visitTypeInsn(int opcode, String type) {
            if (opcode == Opcodes.ANEWARRAY) {
                passArray(2);
            }
            super.visitTypeInsn(opcode, type);
            if (opcode == Opcodes.NEW) {
                // Behind it: stack frames name the object by the place of the instruction.
                pass(type.replace('/', '.'));
            }
        }

        @Override
        public void visitIntInsn(int opcode, int operand) {
            if (opcode == Opcodes.NEWARRAY) {
                passArray(
                        switch (operand) {
                            case Opcodes.T_LONG, Opcodes.T_DOUBLE -> 3;
                            case Opcodes.T_INT, Opcodes.T_FLOAT -> 2;
                            case Opcodes.T_SHORT, Opcodes.T_CHAR -> 1;
                            default -> 0;
                        });
            }
            super.visitIntInsn(opcode, operand);
        }

        @Override
        public void visitMethodInsn(
                int opcode, String owner, String name, String descriptor, boolean isInterface) {
            boolean isView = name.equals("slice") || name.equals("duplicate");
            if (isView && owner.equals(BYTE_BUFFER)) {
                pass(VIEW);
            }
            super.visitMethodInsn(opcode, owner, name, descriptor, isInterface);
        }

        @Override
        public void visitInvokeDynamicInsn(
                String name, String descriptor, Handle bootstrap, Object... arguments) {
            int captured = Type.getArgumentTypes(descriptor).length;
            if (captured > 0 && bootstrap.getOwner().endsWith("LambdaMetafactory")) {
                pass(LAMBDA + captured);
            }
            super.visitInvokeDynamicInsn(name, descriptor, bootstrap, arguments);
        }
    }
}
